"""Number predicates as closed intervals of doubles, so that one comparison per end decides them exactly.

Theory. All numbers are finite (`language.model`). Let D be the finite doubles, and for a number v let up(v) be the
least double not below v and down(v) the greatest not above it (here infinities may come out). For every x in D and
every v:

    x >= v  iff  x >= up(v)             x >  v  iff  x >= next above down(v)
    x <= v  iff  x <= down(v)           x <  v  iff  x <= next below up(v)

So a conjunction of number predicates on one attribute is low <= x <= high. It is kept as the pair (low, -high) and a
published x as the pair of limits (x, -x): the predicates hold iff neither bound exceeds its limit. Then

- an end without a predicate is -inf, which exceeds no limit;
- an attribute that is missing, or is a string, has the limits (-inf, -inf), which every end with a predicate exceeds
  (v being finite, it is not -inf);
- a published integer that is no double gets the limits (up(x), -down(x)). up and down are monotone, so whatever matches
  stays within the limits, but something else may, too: the result must be verified. Such numbers are rare.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Container, Iterable, Mapping
from typing import Final

from broker_service.language import Number, Operator, Predicate, Value

Bounds = tuple[float, float]
"""The least value that satisfies a predicate, and the negative of the greatest one."""

UNBOUNDED: Bounds = (-math.inf, -math.inf)

_GREATEST: Final = sys.float_info.max
_EXACT_INTEGER: Final = 2**53
"""Every integer of up to this magnitude is a double."""


def double_not_below(number: Number) -> float:
    """Returns up(number); `math.inf` above the greatest double."""
    try:
        nearest = float(number)
    except OverflowError:
        return math.inf if number > 0 else -_GREATEST
    return nearest if nearest >= number else math.nextafter(nearest, math.inf)


def double_not_above(number: Number) -> float:
    """Returns down(number); `-math.inf` below the least double."""
    return -double_not_below(-number)


_INTERVALS: dict[Operator, Callable[[Number], Bounds]] = {
    Operator.EQUAL: lambda v: (double_not_below(v), -double_not_above(v)),
    Operator.LESS: lambda v: (-math.inf, -math.nextafter(double_not_below(v), -math.inf)),
    Operator.LESS_OR_EQUAL: lambda v: (-math.inf, -double_not_above(v)),
    Operator.GREATER: lambda v: (math.nextafter(double_not_above(v), math.inf), -math.inf),
    Operator.GREATER_OR_EQUAL: lambda v: (double_not_below(v), -math.inf),
}


def bounds_of(predicate: Predicate) -> Bounds | None:
    """The interval of a predicate on numbers, or None when it has none."""
    value = predicate.value
    interval = _INTERVALS.get(predicate.operator)
    if interval is None or isinstance(value, str):
        return None
    return interval(value)


def intersection(left: Bounds, right: Bounds) -> Bounds:
    """The intersection of two intervals; when they are disjoint, an interval without any double."""
    return max(left[0], right[0]), max(left[1], right[1])


class Conjunction:
    """The predicates of a subscription, those on numbers folded to one interval per attribute."""

    __slots__ = ("_predicates", "intervals", "others")

    def __init__(self, predicates: tuple[Predicate, ...]) -> None:
        self._predicates = predicates
        self.intervals: dict[str, Bounds] = {}
        self.others: list[Predicate] = []
        """The predicates that are not intervals."""
        for predicate in predicates:
            bounds = bounds_of(predicate)
            if bounds is None:
                self.others.append(predicate)
            else:
                known = self.intervals.get(predicate.attribute)
                self.intervals[predicate.attribute] = bounds if known is None else intersection(known, bounds)

    def besides(self, attributes: Container[str]) -> tuple[Predicate, ...]:
        """The predicates that remain to be checked once the intervals of these attributes have been."""
        if all(attribute in attributes for attribute in self.intervals):
            return tuple(self.others)
        return tuple(p for p in self._predicates if p.attribute not in attributes or bounds_of(p) is None)


class AttributeLimits:
    """Limits that a publication's attributes set for the bounds of matching subscriptions."""

    __slots__ = ("attributes", "exact")

    exact: bool
    """True while all limits returned so far decide exactly; otherwise subscriptions within them must be verified."""

    def __init__(self, attributes: Mapping[str, Value]) -> None:
        self.attributes = attributes
        self.exact = True

    def of(self, attributes: Iterable[str]) -> list[float]:
        """The two limits of each attribute, one attribute after the other."""
        published = self.attributes
        limits: list[float] = []
        for attribute in attributes:
            value = published.get(attribute)
            limits += (value, -value) if type(value) is float else self._pair(value)
        return limits

    def pair(self, attribute: str) -> Bounds:
        """The limits of the attribute's low end and of the negative of its high end."""
        return self._pair(self.attributes.get(attribute))

    def _pair(self, value: Value | None) -> Bounds:
        if value is None or isinstance(value, str):
            return UNBOUNDED
        if isinstance(value, int) and not -_EXACT_INTEGER <= value <= _EXACT_INTEGER:
            self.exact = False
            return double_not_below(value), -double_not_above(value)
        number = float(value)
        return number, -number
