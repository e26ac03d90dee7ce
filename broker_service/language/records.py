"""Predicates of the language in the form of logs and of the operations of a workload."""

from __future__ import annotations

from functools import lru_cache

from broker_service.language.model import ContentError, Predicate, Value, operator_named
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
    return _predicate(record.attribute, record.operator, value)


@lru_cache(maxsize=16_384, typed=True)
def _predicate(attribute: str, operator: str, value: Value) -> Predicate:
    """A predicate, the same object for equal ones: thousands of clients have the same few in a run's logs."""
    return Predicate(attribute, operator_named(operator, value), value)
