"""The content model: publications are attribute-value pairs, everything else is a conjunction of predicates.

Numbers are one type: an `int` and a `float` of the same value are the same number, and comparisons are exact (Python
compares the two without rounding). Strings are compared by code point. A predicate's type is the type of its value.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass

Number = int | float
Value = int | float | str


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


@dataclass(frozen=True, slots=True)
class Predicate:
    """One condition on one attribute, for example `[price,>,80]`.

    The operator fits the value's type: the number operators go with a number, the string operators with a string,
    `PRESENT` with either (the value then only names the type).
    """

    attribute: str
    operator: Operator
    value: Value


@dataclass(frozen=True, slots=True)
class Subscription:
    """A conjunction: every predicate must hold. Several predicates may stand on one attribute."""

    predicates: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Advertisement:
    """A client's promise: each attribute of its publications is named here and satisfies the predicates on it."""

    predicates: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Publication:
    """The content of one publication."""

    attributes: Mapping[str, Value]
