"""Conditions: predicates of log records, as the judge reads them.

A condition relates the value of one attribute to an operand. Its kind, number or string, is that of the operand, and it
holds for no value of the other kind and for no publication that lacks the attribute, whatever the relation. Numbers and
strings share the relations of order; a word of the notation means one of them.

| relation | for numbers | for strings |
|---|---|---|
| equal, different | `=` or `eq`, `<>` or `neq` | `eq`, `neq` |
| below, at most, above, at least | `<`, `<=`, `>`, `>=` | `str-lt`, `str-le`, `str-gt`, `str-ge` |
| begins, ends, contains | | `str-prefix`, `str-postfix`, `str-contains` |
| present | `isPresent` | `isPresent` |
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from analysis.judging.language.values import (
    CLASS,
    MAX_ADVERTISED,
    MAX_CONDITIONS,
    MAX_OPERAND,
    OutsideLanguageError,
    check_name,
    check_value,
)
from analysis.reading.publication_events import Value
from record.log import PredicateRecord


class Relation(enum.Enum):
    """The relation of a published value to a condition's operand."""

    EQUAL = "equal"
    DIFFERENT = "different"
    BELOW = "below"
    AT_MOST = "at most"
    ABOVE = "above"
    AT_LEAST = "at least"
    BEGINS = "begins"
    ENDS = "ends"
    CONTAINS = "contains"
    PRESENT = "present"

    # Members are singletons, so identity is enough; the inherited hash is a Python call for each condition.
    __hash__ = object.__hash__


_NUMBER_WORDS: Mapping[str, Relation] = {
    "=": Relation.EQUAL,
    "eq": Relation.EQUAL,
    "<>": Relation.DIFFERENT,
    "neq": Relation.DIFFERENT,
    "<": Relation.BELOW,
    "<=": Relation.AT_MOST,
    ">": Relation.ABOVE,
    ">=": Relation.AT_LEAST,
    "isPresent": Relation.PRESENT,
}
_STRING_WORDS: Mapping[str, Relation] = {
    "eq": Relation.EQUAL,
    "neq": Relation.DIFFERENT,
    "str-lt": Relation.BELOW,
    "str-le": Relation.AT_MOST,
    "str-gt": Relation.ABOVE,
    "str-ge": Relation.AT_LEAST,
    "str-prefix": Relation.BEGINS,
    "str-postfix": Relation.ENDS,
    "str-contains": Relation.CONTAINS,
    "isPresent": Relation.PRESENT,
}


@dataclass(frozen=True, slots=True)
class Condition:
    """A relation of one attribute's value to an operand. Of `PRESENT` the operand is "" or 0 and only tells the kind,
    so that conditions are equal exactly if they are the same relation to the same operand."""

    attribute: str
    relation: Relation
    operand: Value


Conjunction = tuple[Condition, ...]
"""Conditions on one publication that all hold. Without any, it matches every publication."""


def relation_named(word: str, string: bool) -> Relation:
    """The relation that a word means for a string or a number. Raises `OutsideLanguageError`."""
    relation = (_STRING_WORDS if string else _NUMBER_WORDS).get(word)
    if relation is None:
        raise OutsideLanguageError(f"{word[:40]!r} does not relate {'strings' if string else 'numbers'}")
    return relation


def condition_of(attribute: str, word: str, operand: Value) -> Condition:
    """The condition of a predicate. Raises `OutsideLanguageError`."""
    string = isinstance(operand, str)
    relation = relation_named(word, string)
    check_name(attribute)
    check_value(operand)
    if isinstance(operand, str) and len(operand) > MAX_OPERAND:
        raise OutsideLanguageError(f"an operand of {len(operand)} characters")
    return Condition(attribute, relation, _sample(string) if relation is Relation.PRESENT else operand)


def present(attribute: str, string: bool) -> Condition:
    """The condition that an attribute has a value of this kind."""
    return Condition(attribute, Relation.PRESENT, _sample(string))


def subscribed(records: Iterable[PredicateRecord]) -> Conjunction:
    """The conjunction of a subscription's record. Raises `OutsideLanguageError`."""
    conditions = tuple([_recorded(record) for record in records])
    if len(conditions) > MAX_CONDITIONS:
        raise OutsideLanguageError(f"a subscription of {len(conditions)} predicates")
    return conditions


def advertised(records: Iterable[PredicateRecord]) -> Conjunction:
    """The conditions of an advertisement's record. Raises `OutsideLanguageError`."""
    conditions = tuple([_recorded(record) for record in records])
    if len(conditions) > MAX_ADVERTISED:
        raise OutsideLanguageError(f"an advertisement of {len(conditions)} predicates")
    on_attribute = Counter(condition.attribute for condition in conditions)
    if CLASS not in on_attribute:
        raise OutsideLanguageError(f"an advertisement that does not name {CLASS!r}")
    if max(on_attribute.values()) > MAX_CONDITIONS:
        raise OutsideLanguageError(f"an advertisement of {max(on_attribute.values())} predicates on one attribute")
    return conditions


def related(value: Value, relation: Relation, operand: Value) -> bool:
    """True when the relation holds between a value and an operand of the same kind."""
    if relation is Relation.PRESENT:
        return True
    if relation in PARTS:
        return is_part(str(value), relation, str(operand))
    return compared(value, operand) in SIGNS[relation]


def compared(value: Value, operand: Value) -> int:
    """-1, 0 or 1: the sign of the difference of two values of the same kind. Python compares an integer with a decimal
    exactly, and strings by code point."""
    return (value > operand) - (value < operand)  # type: ignore[operator]  # of the same kind


def is_part(value: str, relation: Relation, operand: str) -> bool:
    """True when a string begins with, ends with or contains another."""
    if relation is Relation.BEGINS:
        return value[: len(operand)] == operand
    if relation is Relation.ENDS:
        return value[max(0, len(value) - len(operand)) :] == operand
    return value.find(operand) >= 0


SIGNS: Mapping[Relation, tuple[int, ...]] = {
    Relation.EQUAL: (0,),
    Relation.DIFFERENT: (-1, 1),
    Relation.BELOW: (-1,),
    Relation.AT_MOST: (-1, 0),
    Relation.ABOVE: (1,),
    Relation.AT_LEAST: (0, 1),
}
"""For each relation of order, the signs of (value - operand) for which it holds."""
PARTS = frozenset({Relation.BEGINS, Relation.ENDS, Relation.CONTAINS})
"""The relations of a string to a part of it."""


def _sample(string: bool) -> Value:
    return "" if string else 0


def _recorded(record: PredicateRecord) -> Condition:
    operand = record.number if record.string is None else record.string
    if operand is None:
        raise OutsideLanguageError(f"a predicate on {record.attribute} without a value")
    return _condition(record.attribute, record.operator, operand)


@lru_cache(maxsize=16_384)
def _condition(attribute: str, word: str, operand: Value) -> Condition:
    """A condition, the same object for equal ones, because thousands of clients have the same few."""
    return condition_of(attribute, word, operand)
