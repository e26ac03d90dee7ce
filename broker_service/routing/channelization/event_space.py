"""The event space as cells, such that every subscription wants all publications of a cell or none, by one attribute.

The values that subscriptions name cut the space: each named number is a cell, each open interval between two of them is
one, and so is each named string. All other publications, without the attribute or with a string that is not named, are
the last cell; some subscriptions want only a part of it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise

import msgspec
import numpy as np
from numpy.typing import NDArray

from broker_service.language import Number, Predicate, Subscription, Value
from broker_service.language.content import holds
from broker_service.language.model import Operator
from broker_service.language.relations import overlaps

MOST_VALUES = 20_000
"""Values of an attribute that may cut the space, so that preparation ends within seconds."""
_LARGEST = 2**63
"""Numbers from here on do not cut the space, because they would not fit into the plan of a server."""


class EventSpace(msgspec.Struct, frozen=True, dict=True):
    """Cells, by number: the rest, then intervals and named numbers in turn, then named strings."""

    attribute: str
    numbers: tuple[Number, ...] = ()
    """Numbers that bound the intervals, ascending."""
    strings: tuple[str, ...] = ()
    """Strings with a cell of their own, ascending."""

    def __len__(self) -> int:
        return 2 + 2 * len(self.numbers) + len(self.strings)

    def cell_of(self, attributes: Mapping[str, Value]) -> int:
        """The cell of a publication with these attributes."""
        value = attributes.get(self.attribute)
        if value is None:
            return 0
        if isinstance(value, str):
            place = bisect_left(self.strings, value)
            named = place < len(self.strings) and self.strings[place] == value
            return self._first_string + place if named else 0
        place = bisect_left(self.numbers, value)
        return 1 + 2 * place + (place < len(self.numbers) and self.numbers[place] == value)

    def cells_of(self, subscription: Subscription) -> Sequence[int]:
        """The cells that hold a publication which a subscription may match."""
        predicates = [predicate for predicate in subscription.predicates if predicate.attribute == self.attribute]
        if not predicates:
            return range(len(self))
        if not all(isinstance(predicate.value, str) for predicate in predicates):
            return [1 + place for place in self._numbers_of(predicates)]
        places = [place for place, string in enumerate(self.strings) if _all_hold(predicates, string)]
        rest = [] if any(_equals_one_of(predicate, self._strings) for predicate in predicates) else [0]
        return [*rest, *(self._first_string + place for place in places)]

    def _numbers_of(self, predicates: Sequence[Predicate]) -> Iterable[int]:
        """Places among intervals and named numbers, in turn."""
        equal = next((predicate.value for predicate in predicates if predicate.operator is Operator.EQUAL), None)
        if equal is not None:
            place = self.cell_of({self.attribute: equal}) - 1
            return [place] if _all_hold(predicates, equal) else []
        if all(predicate.operator is Operator.PRESENT or predicate.value in self._named for predicate in predicates):
            places = range(self._first_string - 1)
            return [place for place in places if all(self._holds_at(predicate, place) for predicate in predicates)]
        wanted = Subscription(tuple(predicates))
        return [place for place in range(self._first_string - 1) if overlaps(self._cell(place), wanted)]

    def _holds_at(self, predicate: Predicate, place: int) -> bool:
        """True when a predicate with a named number, or none, holds for all of an interval or for a named number."""
        if place % 2:
            return holds(predicate, self.numbers[place // 2])
        value = predicate.value
        if isinstance(value, str) or predicate.operator is Operator.EQUAL:
            return False
        if predicate.operator in (Operator.PRESENT, Operator.NOT_EQUAL):
            return True
        is_below = place // 2 <= bisect_left(self.numbers, value)
        return is_below == (predicate.operator in (Operator.LESS, Operator.LESS_OR_EQUAL))

    def _cell(self, place: int) -> Subscription:
        """An interval or a named number as a subscription to it."""

        def bound(operator: Operator, number: int) -> list[Predicate]:
            within = 0 <= number < len(self.numbers)
            return [Predicate(self.attribute, operator, self.numbers[number])] if within else []

        if place % 2:
            return Subscription(tuple(bound(Operator.EQUAL, place // 2)))
        bounds = [*bound(Operator.GREATER, place // 2 - 1), *bound(Operator.LESS, place // 2)]
        return Subscription(tuple(bounds or [Predicate(self.attribute, Operator.PRESENT, 0)]))

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """Shares of publications that are expected in the cells, in proportion: 1 each.

        An interval that holds no integer, between named integers, is expected to be empty.
        """
        weights = np.ones(len(self))
        if all(float(number).is_integer() for number in self.numbers):
            for place, (below, above) in enumerate(pairwise(self.numbers), start=1):
                weights[1 + 2 * place] = above - below > 1
        return weights

    @property
    def _first_string(self) -> int:
        return 2 + 2 * len(self.numbers)

    @cached_property
    def _named(self) -> frozenset[Value]:
        return frozenset(self.numbers)

    @cached_property
    def _strings(self) -> frozenset[Value]:
        return frozenset(self.strings)


def _cuts(value: Value) -> bool:
    return not isinstance(value, int) or -_LARGEST <= value < _LARGEST


def _all_hold(predicates: Iterable[Predicate], value: Value) -> bool:
    return all(holds(predicate, value) for predicate in predicates)


def _equals_one_of(predicate: Predicate, strings: frozenset[Value]) -> bool:
    return predicate.operator is Operator.STRING_EQUAL and predicate.value in strings


def event_space(subscriptions: Iterable[Subscription], attribute: str = "") -> EventSpace:
    """The space that subscriptions cut by an attribute; by the one of which they name most values, if none is given.

    Raises `ValueError` when they name more than `MOST_VALUES`.
    """
    values: dict[str, set[Value]] = {attribute: set()} if attribute else {}
    for subscription in subscriptions:
        for predicate in subscription.predicates:
            if not attribute or predicate.attribute == attribute:
                found = values.setdefault(predicate.attribute, set())
                if predicate.operator is not Operator.PRESENT and _cuts(predicate.value):
                    found.add(predicate.value)
    attribute = attribute or max(sorted(values), key=lambda name: len(values[name]), default="class")
    named = values.get(attribute, set())
    if len(named) > MOST_VALUES:
        raise ValueError(
            f"subscriptions name {len(named):,} values of {attribute!r}; channels are made of at most {MOST_VALUES:,}, "
            "so name another attribute (routing.attribute)"
        )
    numbers = sorted(value for value in named if not isinstance(value, str))
    return EventSpace(attribute, tuple(numbers), tuple(sorted(value for value in named if isinstance(value, str))))
