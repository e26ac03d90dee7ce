"""Content of the brokers' language in the form in which logs record it, and in the judge's own."""

from __future__ import annotations

from collections.abc import Iterable

from analysis.judging.language import (
    AllOf,
    AnyOf,
    Condition,
    Conjunction,
    Part,
    Pattern,
    Variable,
    VariableRelation,
    condition_of,
)
from analysis.judging.language.conditions import relation_named
from broker_service.language import Predicate
from broker_service.language.composite import And, Atomic, Composite, VariablePredicate, VariableType
from record.log import PredicateRecord


def record_of(predicate: Predicate) -> PredicateRecord:
    """The record of a predicate, written without the brokers' own writer of records."""
    number, string = (None, predicate.value) if isinstance(predicate.value, str) else (predicate.value, None)
    return PredicateRecord(
        attribute=predicate.attribute, operator=predicate.operator.value, number=number, string=string
    )


def records_of(predicates: Iterable[Predicate]) -> tuple[PredicateRecord, ...]:
    return tuple(map(record_of, predicates))


def conjunction_of(predicates: Iterable[Predicate]) -> Conjunction:
    return tuple(map(_condition, predicates))


def pattern_of(pattern: Composite) -> Pattern:
    """The judge's form of a pattern."""
    if isinstance(pattern, Atomic):
        return Part(
            tuple(_condition(made) for made in pattern.predicates if isinstance(made, Predicate)),
            tuple(_relation(made) for made in pattern.predicates if isinstance(made, VariablePredicate)),
        )
    node = AllOf if isinstance(pattern, And) else AnyOf
    return node(tuple(map(pattern_of, pattern.operands)))


def _condition(predicate: Predicate) -> Condition:
    return condition_of(predicate.attribute, predicate.operator.value, predicate.value)


def _relation(made: VariablePredicate) -> VariableRelation:
    string = made.variable.type is VariableType.STRING
    return VariableRelation(
        made.attribute, relation_named(made.operator.value, string), Variable(made.variable.name, string)
    )
