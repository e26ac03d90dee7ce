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


def estimate_of_share(values: Iterable[float | None]) -> SeedEstimate | None:
    """The estimate of a share: its interval stays between 0 and 1."""
    found = estimate(values)
    return None if found is None else on_the_scale_of_shares(found)


def on_the_scale_of_shares(found: SeedEstimate) -> SeedEstimate:
    """The estimate with Wilson's interval in place of the symmetric one, which may leave the range from 0 to 1.

    Wilson's interval holds all shares p whose own standard error, sqrt(p (1 - p) / n), explains the measured mean. Here
    n is the number of independent draws with which the mean would scatter as much as it does between seeds.
    """
    if found.low is None or found.high is None or not 0 <= found.mean <= 1:
        return found
    quantile = student_t(found.seeds - 1)
    variance = ((found.high - found.low) / 2 / quantile) ** 2
    scatter = found.mean * (1 - found.mean)
    if not variance or not scatter:
        return _from_0_to_1(found.mean, found.low, found.high, found.seeds)
    draws = scatter / variance
    shrunk = 1 + quantile**2 / draws
    middle = (found.mean + quantile**2 / (2 * draws)) / shrunk
    half = quantile / shrunk * math.sqrt(variance + (quantile / (2 * draws)) ** 2)
    return _from_0_to_1(found.mean, middle - half, middle + half, found.seeds)


def _from_0_to_1(mean: float, low: float, high: float, seeds: int) -> SeedEstimate:
    return SeedEstimate(mean=mean, low=max(0.0, low), high=min(1.0, high), seeds=seeds)
