"""Predicates of the language in the form of logs and of the operations of a workload."""

from __future__ import annotations

from broker_service.language.model import ContentError, Predicate, operator_named
from record.log import PredicateRecord


def predicate_record(predicate: Predicate) -> PredicateRecord:
    """A predicate of the language in the form of operations and logs."""
    if isinstance(predicate.value, str):
        return PredicateRecord(attribute=predicate.attribute, operator=predicate.operator.value, string=predicate.value)
    return PredicateRecord(attribute=predicate.attribute, operator=predicate.operator.value, number=predicate.value)


def recorded_predicate(record: PredicateRecord) -> Predicate:
    """The inverse of `predicate_record`. Raises `ContentError` for a record that is not a predicate."""
    value = record.number if record.string is None else record.string
    if value is None:
        raise ContentError(f"the predicate on {record.attribute} has no value")
    return Predicate(record.attribute, operator_named(record.operator, value), value)
