"""Stand-in for the relations of the language until they land."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from broker_service.language import Operator, Predicate, Subscription, Value

_TESTS: dict[Operator, Callable[[Any, Any], bool]] = {
    Operator.EQUAL: operator.eq,
    Operator.NOT_EQUAL: operator.ne,
    Operator.LESS: operator.lt,
    Operator.LESS_OR_EQUAL: operator.le,
    Operator.GREATER: operator.gt,
    Operator.GREATER_OR_EQUAL: operator.ge,
    Operator.STRING_EQUAL: operator.eq,
    Operator.STRING_NOT_EQUAL: operator.ne,
    Operator.STRING_LESS: operator.lt,
    Operator.STRING_LESS_OR_EQUAL: operator.le,
    Operator.STRING_GREATER: operator.gt,
    Operator.STRING_GREATER_OR_EQUAL: operator.ge,
    Operator.STRING_PREFIX: str.startswith,
    Operator.STRING_POSTFIX: str.endswith,
    Operator.STRING_CONTAINS: operator.contains,
    Operator.PRESENT: lambda _value, _sample: True,
}


def _holds(predicate: Predicate, value: Value | None) -> bool:
    if value is None or isinstance(value, str) != isinstance(predicate.value, str):
        return False
    return _TESTS[predicate.operator](value, predicate.value)


def matches(subscription: Subscription, attributes: Mapping[str, Value]) -> bool:
    """Return whether every predicate holds."""
    return all(_holds(predicate, attributes.get(predicate.attribute)) for predicate in subscription.predicates)
