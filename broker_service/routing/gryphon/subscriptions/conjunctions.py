"""Conjunctions, the covering relation between them, and their hulls.

A conjunction is known by its content, so that equal ones of different subscribers are one. Covering is a partial
order here: of two different conjunctions that match the same publications, the one whose content comes first covers
the other. The roots of a set are then the same in whatever order they came.

Most coverings are decided by hulls, without comparing all predicates:

1. The hull of an attribute with numbers is the interval between the bounds that the predicates set; that of one with
   strings is the string that it has to equal, if any.
2. A conjunction that some publication matches is covered only by those that bound no attribute which it does not bound,
   `class` excepted, which every publication has, and whose intervals reach as far as its own.
3. Hulls without other predicates (`exact`) are the conjunctions themselves, so that they also decide what rule 2
   leaves open.
4. A conjunction that no publication matches has no hull, because all others cover it.
"""

from __future__ import annotations

from math import inf
from typing import Final, NamedTuple

import msgspec

from broker_service.language import CLASS, ContentError, Operator, Subscription
from broker_service.language.content import decode_subscription
from broker_service.language.relations import covers
from broker_service.routing.common.contents import content_of
from broker_service.routing.interface import MalformedMessageError


class Conjunction(msgspec.Struct, frozen=True):
    """A conjunction of predicates."""

    body: bytes
    """Encoded predicates, by which the conjunction is known; empty for the one that matches every publication."""
    subscription: Subscription

    @classmethod
    def of(cls, subscription: Subscription) -> Conjunction:
        """The conjunction of a client's subscription."""
        return cls(content_of(subscription), subscription)


EVERYTHING = Conjunction(b"", Subscription(()))
"""The conjunction that matches every publication."""


def decode_conjunction(body: bytes) -> Conjunction:
    """The conjunction of a content. Raises `MalformedMessageError` when it cannot be decoded."""
    if not body:
        return EVERYTHING
    try:
        return Conjunction(body, decode_subscription(body))
    except ContentError as error:
        raise MalformedMessageError(str(error)) from None


def is_above(general: Conjunction, special: Conjunction) -> bool:
    """True when one conjunction covers another, different one. Of two that match the same publications, the one whose
    content comes first covers the other."""
    if not covers(general.subscription, special.subscription):
        return False
    return general.body < special.body or not covers(special.subscription, general.subscription)


_OPEN: Final = (Operator.GREATER, Operator.LESS)
_LOWER: Final = (Operator.GREATER, Operator.GREATER_OR_EQUAL, Operator.EQUAL)
_UPPER: Final = (Operator.LESS, Operator.LESS_OR_EQUAL, Operator.EQUAL)
_EXACT: Final = frozenset({*_LOWER, *_UPPER, Operator.STRING_EQUAL, Operator.PRESENT})


class _Interval(NamedTuple):
    low: int | float
    high: int | float
    low_open: bool
    """True when the bound itself is not in the interval."""
    high_open: bool


_ALL_NUMBERS: Final = _Interval(-inf, inf, True, True)


class Hull(NamedTuple):
    """The hull of one conjunction, by attribute."""

    numbers: dict[str, _Interval]
    """Intervals of the attributes with numbers."""
    strings: dict[str, str | None]
    """Strings that attributes have to equal; None when the predicates of an attribute do not name one."""
    exact: bool
    """True when the predicates say nothing else."""

    def contains(self, other: Hull) -> bool | None:
        """True when the conjunction of this hull covers that of another one; None when the hulls do not decide it."""
        reaches_beyond = False
        """True when the other one has something that this one lacks, unless predicates besides the hull exclude it."""
        for attribute, interval in self.numbers.items():
            found = other.numbers.get(attribute)
            if found is None or found.low < interval.low or found.high > interval.high:
                return False
            if (found.low == interval.low and interval.low_open and not found.low_open) or (
                found.high == interval.high and interval.high_open and not found.high_open
            ):
                reaches_beyond = True
        for attribute, wanted in self.strings.items():
            if attribute not in other.strings and (attribute != CLASS or attribute in other.numbers):
                return False
            held = other.strings.get(attribute)
            if wanted is not None and wanted != held:
                if held is not None:
                    return False
                reaches_beyond = True
        return not reaches_beyond if self.exact and other.exact else None


def hull_of(subscription: Subscription) -> Hull:
    """The hull of a subscription that some publication matches."""
    numbers: dict[str, _Interval] = {}
    strings: dict[str, str | None] = {}
    exact = True
    for predicate in subscription.predicates:
        attribute, operator, value = predicate.attribute, predicate.operator, predicate.value
        exact = exact and operator in _EXACT
        if isinstance(value, str):
            strings[attribute] = value if operator is Operator.STRING_EQUAL else strings.get(attribute)
        else:
            numbers[attribute] = _narrowed(numbers.get(attribute, _ALL_NUMBERS), operator, value)
    return Hull(numbers, strings, exact)


def _narrowed(interval: _Interval, operator: Operator, value: int | float) -> _Interval:
    """The part of an interval in which a predicate holds."""
    low, high, low_open, high_open = interval
    is_open = operator in _OPEN
    if operator in _LOWER and (value > low or (value == low and is_open)):
        low, low_open = value, is_open
    if operator in _UPPER and (value < high or (value == high and is_open)):
        high, high_open = value, is_open
    return _Interval(low, high, low_open, high_open)
