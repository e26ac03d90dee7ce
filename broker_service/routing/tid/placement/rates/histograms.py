"""Histograms of an attribute's values in publications, as they travel between brokers (section 4.3).

All shares are of publications: those of an attribute that every third publication has add up to a third. They are made
from a sample of publications (`statistics`), so that the least and the greatest value, and with them the width of
buckets, follow what is published. Two forms complement each other:

1. A *histogram* divides the numbers from the least to the greatest into buckets of one width. Within a bucket numbers
   count as spread evenly, so that open and closed bounds are the same.
2. *Frequent values* list the values that are most common, each with its share, and the share of all others together.
   Strings have no other form. The paper has none for numbers; they have both, because a histogram of twenty buckets
   cannot tell the share of `[quantity,=,100]`.

Neighbours are not trusted: structs whose fields contradict each other raise `ValueError` when they are made, which
decoding turns into its own error.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import isfinite
from typing import Annotated

import msgspec

from broker_service.language import Number, Value

BUCKETS = 20
"""Buckets of a histogram."""
LISTED = 20
"""Values that are listed one by one."""
LONGEST_LISTED = 64
"""Code points of the longest string that is listed, because statistics have to stay small."""
DIFFERENCE = 0.2
"""Share of publications by which two distributions differ noticeably."""

_FURTHEST = 1e300
"""Numbers beyond it count as this number, because the width of buckets has to be finite."""
_BEYOND_MESSAGES = 1 << 63
"""Integers from here on have no form in a header (MessagePack)."""
_SLACK = 1e-6
"""Room for rounding in the sum of shares."""


def _is_share(number: float) -> bool:
    return 0 <= number <= 1 + _SLACK


Share = Annotated[float, msgspec.Meta(ge=0, le=1 + _SLACK)]


class Histogram(msgspec.Struct, frozen=True, array_like=True):
    """Shares of publications by the bucket that a number falls into."""

    low: float = 0.0
    high: float = 0.0
    """The least and the greatest number; every bucket has one of `len(shares)` equal parts of the way between."""
    shares: tuple[Share, ...] = ()
    """One for each bucket, in ascending order; none where nothing is known."""

    def __post_init__(self) -> None:
        if not (isfinite(self.low) and isfinite(self.high - self.low) and self.low <= self.high):
            raise ValueError(f"a histogram from {self.low} to {self.high}")
        if len(self.shares) > BUCKETS or not _is_share(sum(self.shares)):
            raise ValueError(f"{len(self.shares)} buckets that add up to {sum(self.shares)}")

    @property
    def total(self) -> float:
        """Share of publications that have a number."""
        return sum(self.shares)

    def between(self, low: Number | None, high: Number | None) -> float:
        """Share of publications whose number is between two bounds; None stands for no bound."""
        if low is not None and high is not None and low > high:
            return 0.0
        above = 0.0 if low is None else self._below(low)
        return max(0.0, (self.total if high is None else self._below(high)) - above)

    def bucket_of(self, number: Number) -> float:
        """Share of the bucket that a number falls into; 0 beyond the least and the greatest."""
        place = _real(number)
        if not self.shares or not self.low <= place <= self.high:
            return 0.0
        return self.shares[min(len(self.shares) - 1, int(self._position(place)))]

    def difference(self, other: Histogram) -> float:
        """Greatest difference between the shares below any number."""
        bounds = {self.low, self.high, other.low, other.high}
        for histogram in (self, other):
            width = (histogram.high - histogram.low) / BUCKETS
            bounds.update(histogram.low + width * number for number in range(1, BUCKETS))
        ends = abs(self.total - other.total)
        return max(ends, *(abs(self._below(bound) - other._below(bound)) for bound in bounds))

    def _below(self, number: Number) -> float:
        place = _real(number)
        if place <= self.low:
            return 0.0
        if place > self.high or self.high == self.low:
            return self.total
        position = self._position(place)
        whole = min(int(position), len(self.shares))
        part = self.shares[whole] * (position - whole) if whole < len(self.shares) else 0.0
        return sum(self.shares[:whole]) + part

    def _position(self, place: float) -> float:
        """Buckets below a number that is between the least and the greatest."""
        if self.high == self.low:
            return 0.0
        return (place - self.low) / (self.high - self.low) * len(self.shares)


class FrequentValues(msgspec.Struct, frozen=True, array_like=True):
    """The most common values of one type with their shares, and the share of all others."""

    listed: tuple[tuple[Value, Share], ...] = ()
    """The most common value first."""
    others: Share = 0.0
    """Share of publications with a value that is not listed."""
    different: Annotated[int, msgspec.Meta(ge=0, le=1 << 32)] = 0
    """Values that are not listed, as far as they are known."""

    def __post_init__(self) -> None:
        if len(self.listed) > LISTED or not _is_share(self.total):
            raise ValueError(f"{len(self.listed)} listed values that add up to {self.total}")
        if self.others and not self.different:
            raise ValueError("a share of other values, of which there are none")

    @property
    def total(self) -> float:
        """Share of publications that have a value of this type."""
        return self.others + sum(share for _, share in self.listed)

    @property
    def share_of_another(self) -> float:
        """Share of a value that is not listed, as if all of those were equally common."""
        return self.others / self.different if self.others else 0.0

    def share_of(self, value: Value) -> float:
        """Share of publications with this value."""
        return next((share for listed, share in self.listed if listed == value), self.share_of_another)

    def difference(self, other: FrequentValues) -> float:
        """Greatest difference between the shares of any value, or of values that are not listed."""
        values = {value for value, _ in (*self.listed, *other.listed)}
        differences = (abs(self.share_of(value) - other.share_of(value)) for value in values)
        return max(abs(self.others - other.others), *differences, 0.0)


NO_NUMBERS = Histogram()
NO_VALUES = FrequentValues()


def histogram_of(numbers: Sequence[Number], publications: int) -> Histogram:
    """The histogram of the numbers that an attribute has in a sample of this many publications."""
    if not numbers:
        return NO_NUMBERS
    places = [_real(number) for number in numbers]
    low, high = min(places), max(places)
    if low == high:
        return Histogram(low, high, (len(places) / publications,))
    counts = [0] * BUCKETS
    for place in places:
        counts[min(BUCKETS - 1, int((place - low) / (high - low) * BUCKETS))] += 1
    return Histogram(low, high, tuple(count / publications for count in counts))


def even_histogram(low: Number, high: Number) -> Histogram:
    """The histogram of numbers that are spread evenly between two bounds, one in every publication."""
    ends = sorted((_real(low), _real(high)))
    return Histogram(ends[0], ends[1], (1.0,) if ends[0] == ends[1] else (1 / BUCKETS,) * BUCKETS)


def frequent_values_of(values: Iterable[Value], publications: int) -> FrequentValues:
    """The frequent values among those that an attribute has in a sample of this many publications."""
    counts = Counter(values)
    listed = sorted(filter(_can_be_listed, counts.items()), key=_by_count)[:LISTED]
    others = counts.total() - sum(count for _, count in listed)
    return FrequentValues(
        tuple((value, count / publications) for value, count in listed),
        others / publications,
        len(counts) - len(listed),
    )


def _can_be_listed(counted: tuple[Value, int]) -> bool:
    value, _ = counted
    if isinstance(value, str):
        return len(value) <= LONGEST_LISTED
    return isinstance(value, float) or abs(value) < _BEYOND_MESSAGES


def _by_count(counted: tuple[Value, int]) -> tuple[int, str]:
    return -counted[1], repr(counted[0])


def _real(number: Number) -> float:
    return float(max(-_FURTHEST, min(_FURTHEST, number)))
