"""Evaluation: the tests whether predicates hold for values, and subscriptions and advertisements for publications."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from broker_service.language.model import Advertisement, Operator, Predicate, Publication, Subscription, Value


def _present(_value: Value, _sample: Value) -> bool:
    return True


TESTS: Mapping[Operator, Callable[[Any, Any], bool]] = MappingProxyType(
    {
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
        Operator.PRESENT: _present,
    }
)
"""For each operator, the test of (a publication's value, the predicate's value), both of the operator's type."""

test_of = dict(TESTS).__getitem__
"""The test of an operator."""


def holds(predicate: Predicate, value: Value) -> bool:
    """True when the value satisfies the predicate; a value of the other type never does."""
    wanted = predicate.value
    return (type(value) is str) is (type(wanted) is str) and test_of(predicate.operator)(value, wanted)


def all_hold(predicates: Iterable[Predicate], attributes: Mapping[str, Value]) -> bool:
    """True when each predicate holds for its attribute; on a missing attribute none does."""
    value_of = attributes.get
    for predicate in predicates:
        value = value_of(predicate.attribute)
        if value is None:
            return False
        wanted = predicate.value  # as in `holds`, whose call would take as long as the rest
        if (type(value) is str) is not (type(wanted) is str) or not test_of(predicate.operator)(value, wanted):
            return False
    return True


def matches(subscription: Subscription, publication: Publication) -> bool:
    """True when every predicate of the subscription holds for the publication."""
    return all_hold(subscription.predicates, publication.attributes)


def conforms(publication: Publication, advertisement: Advertisement) -> bool:
    """True when each attribute of the publication is advertised and satisfies the predicates on it.

    Advertised attributes may be missing, except `class`, which no publication lacks.
    """
    by_attribute = advertisement.by_attribute
    for attribute, value in publication.attributes.items():
        predicates = by_attribute.get(attribute)
        if predicates is None:
            return False
        for predicate in predicates:
            wanted = predicate.value  # as in `holds`, whose call would take as long as the rest
            if (type(value) is str) is not (type(wanted) is str) or not test_of(predicate.operator)(value, wanted):
                return False
    return True
