"""The content model: publications are attribute-value pairs, everything else is a conjunction of predicates.

Rules, which the constructors check, so that no other code has to:

1. Numbers are one type: an `int` and a `float` of the same value are the same number, and comparisons are exact (Python
   compares the two without rounding). They are finite; an integer has at most `MAX_INTEGER_DIGITS` digits.
2. Strings are sequences of Unicode scalar values (no lone surrogates: they travel as UTF-8), compared by code point.
3. A predicate's type is the type of its value, and its operator fits it. It never holds for a value of the other type.
4. Every publication carries the attribute `class`, a string (as in PADRES); every advertisement names it. A
   subscription need not.
5. Sizes are bounded (the `MAX_` constants), so that no content can keep a broker busy for long.

All breaches are `ContentError`.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite

Number = int | float
Value = int | float | str

CLASS = "class"
"""The attribute that no publication may lack."""

MAX_ATTRIBUTES = 256
"""Attributes of a publication."""
MAX_PREDICATES = 256
"""Predicates of a subscription, and those of an advertisement on one attribute."""
MAX_ADVERTISED_PREDICATES = 1024
"""Predicates of an advertisement, which has to name every attribute that its publications may have."""
MAX_NAME_LENGTH = 256
"""Code points of an attribute's name."""
MAX_PREDICATE_TEXT = 4096
"""Code points of a predicate's string; the relations take quadratic time in it at worst."""
MAX_INTEGER_DIGITS = 1000
"""Decimal digits of an integer; protects the conversions to and from text, which are quadratic."""

_INTEGER_LIMIT = 10**MAX_INTEGER_DIGITS


class ContentError(ValueError):
    """Content that breaks a rule of the model: its author is at fault.

    `trouble` describes what is wrong, `remedy` how to correct it (where that is not obvious); the message has both.
    """

    def __init__(self, trouble: str, remedy: str = "") -> None:
        super().__init__(f"{trouble}; {remedy}" if remedy else trouble)
        self.trouble = trouble
        self.remedy = remedy


class Operator(enum.Enum):
    """The relations of the PADRES notation; a member's value is the word (or sign) it is written with."""

    EQUAL = "="
    NOT_EQUAL = "<>"
    LESS = "<"
    LESS_OR_EQUAL = "<="
    GREATER = ">"
    GREATER_OR_EQUAL = ">="
    STRING_EQUAL = "eq"
    STRING_NOT_EQUAL = "neq"
    STRING_LESS = "str-lt"
    STRING_LESS_OR_EQUAL = "str-le"
    STRING_GREATER = "str-gt"
    STRING_GREATER_OR_EQUAL = "str-ge"
    STRING_PREFIX = "str-prefix"
    STRING_POSTFIX = "str-postfix"
    STRING_CONTAINS = "str-contains"
    PRESENT = "isPresent"

    # Members are singletons, so identity is enough; the inherited hash is a Python call on every table look-up.
    __hash__ = object.__hash__


_EITHER = {Operator.PRESENT.value: Operator.PRESENT}
_NUMBER_WORDS = {
    operator.value: operator
    for operator in (
        Operator.EQUAL,
        Operator.NOT_EQUAL,
        Operator.LESS,
        Operator.LESS_OR_EQUAL,
        Operator.GREATER,
        Operator.GREATER_OR_EQUAL,
    )
} | _EITHER
_STRING_WORDS = {operator.value: operator for operator in Operator if operator.value not in _NUMBER_WORDS} | _EITHER

NUMBER_OPERATORS = frozenset(_NUMBER_WORDS.values())
"""The operators that go with a number."""
STRING_OPERATORS = frozenset(_STRING_WORDS.values())
"""The operators that go with a string."""

_NUMBER_SYNONYMS = _NUMBER_WORDS | {"eq": Operator.EQUAL, "neq": Operator.NOT_EQUAL}


def operator_named(word: str, value: Value) -> Operator:
    """The operator that a word means for a value; `eq` and `neq` serve numbers too.

    Raises `ContentError` for an unknown word and for one that does not go with the value's type.
    """
    words = _STRING_WORDS if isinstance(value, str) else _NUMBER_SYNONYMS
    if operator := words.get(word):
        return operator
    known = word in _STRING_WORDS or word in _NUMBER_SYNONYMS
    trouble = f"does not go with a {_type_name(value)}" if known else "is not an operator"
    raise ContentError(f"{shortened(word)} {trouble}", f"use one of: {' '.join(words)}")


@dataclass(frozen=True, slots=True)
class Predicate:
    """One condition on one attribute, for example `[price,>,80]`.

    The operator fits the value's type: the number operators go with a number, the string operators with a string,
    `PRESENT` with either (the value then only names the type).
    """

    attribute: str
    operator: Operator
    value: Value

    def __post_init__(self) -> None:
        attribute, value = self.attribute, self.value
        # The common valid cases are tested inline, as those of a publication are.
        if not (type(attribute) is str and 0 < len(attribute) <= MAX_NAME_LENGTH and attribute.isascii()):
            check_name(attribute)
        if type(value) is str:
            if not value.isascii():
                check_value(attribute, value)
            if self.operator not in STRING_OPERATORS:
                raise _misfit(self, STRING_OPERATORS)
            if len(value) > MAX_PREDICATE_TEXT:
                raise ContentError(
                    f"attribute {attribute!r}: a string of {len(value)} characters",
                    f"a predicate takes at most {MAX_PREDICATE_TEXT}",
                )
            return
        if not (type(value) is float and isfinite(value)):
            check_value(attribute, value)
        if self.operator not in NUMBER_OPERATORS:
            raise _misfit(self, NUMBER_OPERATORS)


@dataclass(frozen=True, slots=True)
class Subscription:
    """A conjunction: every predicate must hold. Several predicates may stand on one attribute.

    A subscription without predicates matches every publication.
    """

    predicates: tuple[Predicate, ...]

    def __post_init__(self) -> None:
        _check_count(self.predicates, MAX_PREDICATES)


@dataclass(frozen=True, slots=True)
class Advertisement:
    """A client's promise: each attribute of its publications is named here and satisfies the predicates on it."""

    predicates: tuple[Predicate, ...]
    by_attribute: Mapping[str, Sequence[Predicate]] = field(init=False, repr=False, compare=False)
    """The predicates by the attributes named: no publication that conforms has another attribute."""

    def __post_init__(self) -> None:
        _check_count(self.predicates, MAX_ADVERTISED_PREDICATES)
        if len(self.predicates) > MAX_PREDICATES:
            _check_attributes(self.predicates)
        by_attribute: dict[str, list[Predicate]] = {}
        for predicate in self.predicates:
            by_attribute.setdefault(predicate.attribute, []).append(predicate)
        object.__setattr__(self, "by_attribute", by_attribute)
        if CLASS not in by_attribute:
            raise ContentError(
                f"an advertisement must name the attribute {CLASS!r}", "add for example [class,eq,'STOCK']"
            )


def check_name(name: str) -> None:
    """Raises `ContentError` unless this can be an attribute's name."""
    if type(name) is not str:
        raise ContentError(f"an attribute's name must be a string, not {type(name).__name__}")
    if not 0 < len(name) <= MAX_NAME_LENGTH:
        raise ContentError(f"an attribute's name of {len(name)} characters", f"it takes 1 to {MAX_NAME_LENGTH}")
    if not name.isascii():
        _check_scalars("an attribute's name", name)


def check_value(name: str, value: object) -> None:
    """Raises `ContentError` unless this can be the value of an attribute."""
    if type(value) not in (int, float, str):  # subclasses too: a bool is no number, and a NumPy float prints otherwise
        kind = type(value).__name__
        raise ContentError(
            f"attribute {shortened(name)}: a value is an int, a float or a str, not a {kind}", "convert it"
        )
    if isinstance(value, str):
        if not value.isascii():
            _check_scalars(f"the value of attribute {shortened(name)}", value)
    elif isinstance(value, float):
        if not isfinite(value):
            raise ContentError(f"attribute {shortened(name)}: {value!r} is not a finite number")
    elif isinstance(value, int) and not -_INTEGER_LIMIT < value < _INTEGER_LIMIT:
        raise ContentError(f"attribute {shortened(name)}: an integer takes at most {MAX_INTEGER_DIGITS} digits")


def _check_scalars(what: str, text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ContentError(
            f"{what} has a lone surrogate at index {error.start}", "strings must be valid Unicode"
        ) from None


def _check_count(predicates: tuple[Predicate, ...], most: int) -> None:
    if len(predicates) > most:
        raise ContentError(f"{len(predicates)} predicates", f"a conjunction takes at most {most}")


def _check_attributes(predicates: tuple[Predicate, ...]) -> None:
    """Raises `ContentError` for too many predicates on one attribute, because relations compare each with each."""
    attribute, count = Counter(predicate.attribute for predicate in predicates).most_common(1)[0]
    if count > MAX_PREDICATES:
        raise ContentError(
            f"{count} predicates on attribute {shortened(attribute)}",
            f"an advertisement takes at most {MAX_PREDICATES}",
        )


def _misfit(predicate: Predicate, fitting: frozenset[Operator]) -> ContentError:
    words = " ".join(operator.value for operator in Operator if operator in fitting)
    return ContentError(
        f"attribute {predicate.attribute!r}: {predicate.operator.value!r} does not go with the "
        f"{_type_name(predicate.value)} {shortened(predicate.value)}",
        f"use one of: {words}",
    )


def _type_name(value: Value) -> str:
    return "string" if isinstance(value, str) else "number"


def shortened(value: Value) -> str:
    """The value as a message shows it."""
    return abridged(repr(value), 60)


def abridged(text: str, most: int) -> str:
    """The text, of which a message shows at most this many characters."""
    return text if len(text) <= most else text[:most] + "..."
