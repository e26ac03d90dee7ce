"""Values of plain text in a YAML file: null, booleans and decimal numbers; all other text is itself.

Booleans and numbers are those of YAML 1.1 with two restrictions, because some forms are written by accident and some
cost more to read than to write:

1. An integer is decimal and fits into 64 bits. Binary, octal, hexadecimal and sexagesimal forms (`0b1`, `010`, `0xF`,
   `1:30`) are refused, because a reader easily takes them for something else.
2. A number is finite. `.inf` and `.nan` are refused, because no field accepts them.

A refused form is text when it is written in quotes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

Scalar = str | int | float | bool | None

LARGEST_INTEGER = 2**63 - 1
"""The largest value of an integer, and of its negative."""
_MOST_DIGITS = 19
"""Digits of the largest integer. Longer ones are refused before conversion, which takes quadratic time."""

_WORDS: Mapping[str, Scalar] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
}
_DECIMAL = re.compile(r"[-+]?(?:0|[1-9][0-9_]*)")
_FLOAT = re.compile(r"[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?|[-+]?\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?")
_REFUSED: Mapping[str, re.Pattern[str]] = {
    "a binary number": re.compile(r"[-+]?0b[01_]+"),
    "an octal number": re.compile(r"[-+]?0[0-7_]+"),
    "a hexadecimal number": re.compile(r"[-+]?0x[0-9a-fA-F_]+"),
    "a sexagesimal number": re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?"),
    "not a finite number": re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"),
}
_NUMBER_BEGINS = frozenset("-+.0123456789")


def plain_value(text: str) -> Scalar:
    """The value of a plain scalar, one without quotes. Raises `ValueError` for a number of a refused form."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMBER_BEGINS:
        return text
    if _DECIMAL.fullmatch(text):
        return _integer(text)
    if _FLOAT.fullmatch(text):
        return finite_float(text)
    for form, pattern in _REFUSED.items():
        if pattern.fullmatch(text):
            raise ValueError(f"{shortened(text)} is {form} in YAML: write it in decimal, or in quotes where it is text")
    return text


def finite_float(text: str) -> float:
    """A decimal fraction. Raises `ValueError` for one beyond what a double holds."""
    value = float(text.replace("_", ""))
    if abs(value) == float("inf"):
        raise ValueError(f"{shortened(text)} is too large for a number")
    return value


def bounded_integer(text: str) -> int:
    """A decimal integer. Raises `ValueError` for one of more than 64 bits."""
    return _integer(text)


def shortened(text: str) -> str:
    """The text, cut to a length that fits into a message."""
    return text if len(text) <= 40 else f"{text[:37]}..."


def _integer(text: str) -> int:
    digits = text.replace("_", "")
    if len(digits.lstrip("-+0")) > _MOST_DIGITS or abs(value := int(digits)) > LARGEST_INTEGER:
        raise ValueError(f"{shortened(text)} is too large: an integer is at most {LARGEST_INTEGER}")
    return value
