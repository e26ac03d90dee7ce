"""Access paths: the single property of a publication by which a subscription is found.

A subscription can match only a publication that satisfies each of its predicates, so any one of them can serve to find
it. Two kinds can be looked up in a hash table: an equality, by attribute and value, and the mere presence of an
attribute. The best path is the one that fewest publications take; before any publication was seen, the best guess is
the path that fewest subscriptions could take (a class is shared by all, a symbol by few). Access predicates are due to
F. Fabret et al., "Filtering Algorithms and Implementation for Very Fast Publish/Subscribe Systems", SIGMOD 2001.
"""

from __future__ import annotations

import sys
from operator import attrgetter
from typing import NamedTuple

from broker_service.language import Operator, Predicate, Subscription, Value


class Access(NamedTuple):
    """Publications that carry an attribute with a value; with any value when that is None. Without attribute: all."""

    attribute: str | None
    value: Value | None


ALWAYS = Access(None, None)
"""The path to a subscription without predicates."""


def equality(predicate: Predicate) -> Access | None:
    """The path that is satisfied exactly when the predicate is; None without such a path."""
    value = predicate.value
    if isinstance(value, str):
        found = predicate.operator is Operator.STRING_EQUAL
    else:
        found = predicate.operator is Operator.EQUAL
    return Access(predicate.attribute, value) if found else None


def remaining_predicates(subscription: Subscription, access: Access) -> tuple[Predicate, ...]:
    """The predicates that are left to check of a subscription found by this path."""
    attribute, value = access
    if value is None:
        return subscription.predicates
    return tuple([each for each in subscription.predicates if each.attribute != attribute or equality(each) != access])


_attribute_of = attrgetter("attribute")


class AccessStatistics:
    """Numbers of subscriptions that could be found by each path."""

    __slots__ = ("_carriers",)

    def __init__(self) -> None:
        self._carriers: dict[Access, int] = {}

    def add(self, subscription: Subscription) -> tuple[Access, tuple[Predicate, ...]]:
        """Counts a subscription. Returns the path by which to find it, and the predicates that are left to check then:
        the path is the first of those that are about the rarest.

        Only the magnitude counts: five buckets of equal size serve worse than one, which can be divided better.
        """
        paths = _paths(subscription)
        carriers = self._carriers
        for path in paths:
            carriers[path] = carriers.get(path, 0) + 1
        best, least = ALWAYS, sys.maxsize
        for path in paths:
            magnitude = carriers[path].bit_length()
            if magnitude < least:
                best, least = path, magnitude
        return best, remaining_predicates(subscription, best)

    def remove(self, subscription: Subscription) -> None:
        """Undo the counting of `add`."""
        carriers = self._carriers
        for path in _paths(subscription):
            left = carriers[path] - 1
            if left:
                carriers[path] = left
            else:
                del carriers[path]


def _paths(subscription: Subscription) -> list[Access]:
    """The paths to a subscription, each once: equalities, the later written first, then presences by name."""
    paths: dict[Access, None] = {}
    for predicate in reversed(subscription.predicates):
        if (path := equality(predicate)) is not None:
            paths[path] = None
    for attribute in sorted(set(map(_attribute_of, subscription.predicates))):
        paths[Access(attribute, None)] = None
    return list(paths)
