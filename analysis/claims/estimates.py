"""A quantity measured once for each seed: its mean and the confidence interval of that mean."""

from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import fmean, stdev

import msgspec

from analysis.tables.student import student_t


class SeedEstimate(msgspec.Struct, frozen=True, kw_only=True):
    """The mean over seeds with its 95% confidence interval (Student's t: seeds are independent, their number small)."""

    mean: float
    low: float | None
    """Lower end of the interval; None for a single seed, which gives no information about chance."""
    high: float | None
    seeds: int
    """Number of seeds that gave a value."""

    def above(self, bound: float) -> bool:
        """True when the whole interval lies above the bound."""
        return self.low is not None and self.low > bound

    def below(self, bound: float) -> bool:
        return self.high is not None and self.high < bound

    def contains(self, value: float) -> bool:
        return self.low is not None and self.high is not None and self.low <= value <= self.high

    def within(self, low: float, high: float) -> bool:
        """True when the whole interval lies between these bounds, inclusive."""
        return self.low is not None and self.high is not None and low <= self.low and self.high <= high


def estimate(values: Iterable[float | None]) -> SeedEstimate | None:
    """The estimate from one value for each seed, None where a seed gave no value; None when no seed gave one."""
    given = [value for value in values if value is not None and math.isfinite(value)]
    if not given:
        return None
    mean = fmean(given)
    if len(given) == 1:
        return SeedEstimate(mean=mean, low=None, high=None, seeds=1)
    half = student_t(len(given) - 1) * stdev(given) / math.sqrt(len(given))
    return SeedEstimate(mean=mean, low=mean - half, high=mean + half, seeds=len(given))
