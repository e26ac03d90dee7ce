"""A quantity measured once for each seed: its mean and the confidence interval of that mean."""

from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import fmean, stdev

import msgspec

CONFIDENCE = 0.95

_STUDENT_T = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
"""Two-sided 95% quantiles of Student's t for 1 to 30 degrees of freedom; beyond, they are close to the normal one."""
_NORMAL = 1.960


class SeedEstimate(msgspec.Struct, frozen=True, kw_only=True):
    """The mean over seeds with its 95% confidence interval (Student's t: seeds are independent, their number small)."""

    mean: float
    low: float | None
    """None for a single seed, which gives no information about chance."""
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
    half = _t(len(given) - 1) * stdev(given) / math.sqrt(len(given))
    return SeedEstimate(mean=mean, low=mean - half, high=mean + half, seeds=len(given))


def _t(freedom: int) -> float:
    if freedom <= len(_STUDENT_T):
        return _STUDENT_T[freedom - 1]
    return _NORMAL + (_NORMAL**3 + _NORMAL) / (4 * freedom)  # the first term of the Cornish-Fisher expansion
