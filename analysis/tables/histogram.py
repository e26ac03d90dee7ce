"""Histograms of durations in logarithmic classes, which stay small and can be merged."""

from __future__ import annotations

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


class DurationHistogram(msgspec.Struct):
    """A histogram of durations: the sum is exact, quantiles are exact to a class.

    Durations are in nanoseconds; a shorter one counts as one.
    """

    count: int = 0
    total: int = 0
    largest: int = 0
    classes: dict[int, int] = {}
    """Durations by the number of their class, `floor(log10(duration) * per_decade)`."""
    per_decade: int = CLASSES_PER_DECADE

    def add(self, duration: int) -> None:
        self.count += 1
        self.total += duration
        self.largest = max(self.largest, duration)
        number = floor(log10(max(duration, 1)) * self.per_decade)
        self.classes[number] = self.classes.get(number, 0) + 1

    def add_all(self, durations: NDArray[np.int64]) -> None:
        """Adds at least one duration."""
        self.count += len(durations)
        self.total += int(durations.sum())
        self.largest = max(self.largest, int(durations.max()))
        numbers = np.floor(np.log10(np.maximum(durations, 1)) * self.per_decade).astype(np.int64)
        for number, count in zip(*map(np.ndarray.tolist, np.unique(numbers, return_counts=True)), strict=True):
            self.classes[number] = self.classes.get(number, 0) + count

    def merge(self, other: DurationHistogram) -> None:
        """Adds a histogram with the same classes."""
        self.count += other.count
        self.total += other.total
        self.largest = max(self.largest, other.largest)
        for number, count in other.classes.items():
            self.classes[number] = self.classes.get(number, 0) + count

    def quantile(self, share: float) -> float:
        """The upper end of the class that holds the quantile, so at most one class too large. Raises `ValueError`
        without durations."""
        so_far = 0
        for number, count in sorted(self.classes.items()):
            so_far += count
            if so_far >= share * self.count:
                return min(float(10.0 ** ((number + 1) / self.per_decade)), float(self.largest))
        raise ValueError("there are no durations")

    @property
    def mean(self) -> float:
        """The mean of at least one duration."""
        return self.total / self.count
