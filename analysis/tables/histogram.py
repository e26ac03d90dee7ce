"""Histograms of durations in logarithmic classes, which stay small and can be merged."""

from __future__ import annotations

from collections.abc import Iterator
from math import floor, log10

import msgspec
import numpy as np
from numpy.typing import NDArray

CLASSES_PER_DECADE = 20
"""Classes of delays: each ends an eighth above its start."""
SMALLEST_MS = 0.001
"""Delays below a microsecond count as one microsecond."""


def lower_ms(number: int) -> float:
    """The start of a class of delays in milliseconds; it ends at the start of the next one."""
    return float(10.0 ** (number / CLASSES_PER_DECADE))


class Durations(msgspec.Struct, frozen=True):
    """Some durations together, in nanoseconds."""

    count: int = 0
    total: int = 0
    largest: int = 0

    def __add__(self, other: Durations) -> Durations:
        return Durations(self.count + other.count, self.total + other.total, max(self.largest, other.largest))


def class_of(duration: int, per_decade: int = CLASSES_PER_DECADE) -> int:
    """The number of a duration's class. A duration below a nanosecond counts as one."""
    return floor(log10(max(duration, 1)) * per_decade)


def classes_of(durations: NDArray[np.int64], per_decade: int) -> Iterator[tuple[int, Durations]]:
    """At least one duration by the number of their class."""
    numbers = np.floor(np.log10(np.maximum(durations, 1)) * per_decade).astype(np.int64)
    order = np.argsort(numbers, kind="stable")
    found, starts, counts = np.unique(numbers[order], return_index=True, return_counts=True)
    totals, largest = (together.reduceat(durations[order], starts) for together in (np.add, np.maximum))
    for number, *of_class in zip(*map(np.ndarray.tolist, (found, counts, totals, largest)), strict=True):
        yield number, Durations(*of_class)


class DurationHistogram(msgspec.Struct):
    """A histogram of durations: the sum is exact, quantiles are exact to a class."""

    classes: dict[int, Durations] = {}
    """Durations by the number of their class, `floor(log10(duration) * per_decade)`."""
    per_decade: int = CLASSES_PER_DECADE

    def add(self, number: int, durations: Durations) -> None:
        """Adds durations of one class."""
        self.classes[number] = self.classes.get(number, Durations()) + durations

    @property
    def together(self) -> Durations:
        return sum(self.classes.values(), Durations())

    def quantile(self, share: float) -> float:
        """The upper end of the class that holds the quantile, so at most one class too large. Raises `ValueError`
        without durations."""
        together, so_far = self.together, 0
        for number, durations in sorted(self.classes.items()):
            so_far += durations.count
            if so_far >= share * together.count:
                return min(float(10.0 ** ((number + 1) / self.per_decade)), float(together.largest))
        raise ValueError("there are no durations")

    @property
    def count(self) -> int:
        return self.together.count

    @property
    def largest(self) -> int:
        return self.together.largest

    @property
    def mean(self) -> float:
        """The mean of at least one duration."""
        return self.together.total / self.together.count
