"""Trying predicates one by one, where there is nothing better."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from broker_service.language import Predicate, Value
from broker_service.language.evaluation import holds


def all_hold(predicates: Iterable[Predicate], attributes: Mapping[str, Value]) -> bool:
    """Return whether each predicate holds for its attribute; on a missing attribute none does."""
    for predicate in predicates:
        value = attributes.get(predicate.attribute)
        if value is None or not holds(predicate, value):
            return False
    return True
