"""Values and the bounds of the language, as the judge understands them.

Written from the definition in docs/judge.md, apart from the brokers' own model:

1. A number is a real number, written as an integer or as a decimal: 1 and 1.0 are the same. It is finite, and an
   integer has at most `MAX_DIGITS` digits. Numbers are compared exactly, also an integer with a decimal.
2. A string is a sequence of Unicode scalar values, compared code point by code point. A NUL is a character.
3. A number and a string are never equal, and neither is less than the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isfinite
from typing import Final, TypeVar

from analysis.reading.publication_events import Value

CLASS: Final = "class"
"""The attribute that each publication has, with a string, and that each advertisement names."""

MAX_DIGITS: Final = 1000
"""Decimal digits of an integer."""
MAX_NAME: Final = 256
"""Code points of an attribute's name."""
MAX_OPERAND: Final = 4096
"""Code points of a string in a predicate. A publication's strings have no bound of their own."""
MAX_CONDITIONS: Final = 256
"""Predicates of a subscription, of a part of a pattern, and those of an advertisement on one attribute."""
MAX_ADVERTISED: Final = 1024
"""Predicates of an advertisement."""
MAX_ATTRIBUTES: Final = 256
"""Attributes of a publication."""

Checked = TypeVar("Checked")

_TOO_LARGE = 10**MAX_DIGITS


class OutsideLanguageError(ValueError):
    """Something that is no content, predicate or pattern of the language. The message is the reason."""


def check_name(name: str) -> None:
    """Raises `OutsideLanguageError` unless an attribute may have this name."""
    if not 0 < len(name) <= MAX_NAME:
        raise OutsideLanguageError(f"an attribute's name of {len(name)} characters")
    _check_text(name)


def check_value(value: Value) -> None:
    """Raises `OutsideLanguageError` unless an attribute may have this value."""
    if isinstance(value, str):
        _check_text(value)
    elif isinstance(value, bool) or not isinstance(value, int | float):
        raise OutsideLanguageError(f"a value of the type {type(value).__name__}")
    elif isinstance(value, float):
        if not isfinite(value):
            raise OutsideLanguageError(f"{value!r} is not a finite number")
    elif abs(value) >= _TOO_LARGE:
        raise OutsideLanguageError(f"an integer of more than {MAX_DIGITS} digits")


def check_content(attributes: Mapping[str, Value]) -> None:
    """Raises `OutsideLanguageError` unless a publication may have these attributes."""
    if not isinstance(attributes.get(CLASS), str):
        raise OutsideLanguageError(f"a publication without the attribute {CLASS!r}, a string")
    if len(attributes) > MAX_ATTRIBUTES:
        raise OutsideLanguageError(f"a publication of {len(attributes)} attributes")
    for name, value in attributes.items():
        check_name(name)
        check_value(value)


def reason_outside(check: Callable[[Checked], object], checked: Checked) -> str | None:
    """The reason why a check finds something outside of the language; None where it is within."""
    try:
        check(checked)
    except OutsideLanguageError as error:
        return str(error)
    return None


def _check_text(text: str) -> None:
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise OutsideLanguageError("a string with a lone surrogate")
