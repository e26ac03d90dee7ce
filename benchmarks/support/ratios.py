"""Ratios of paired measurements with an interval of confidence."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from analysis.tables.student import student_t


@dataclass(frozen=True, slots=True)
class Ratio:
    """Geometric mean of the ratios of pairs, and the 95% interval around it."""

    mean: float
    low: float
    high: float


def ratio_of(numerators: Sequence[float], denominators: Sequence[float]) -> Ratio | None:
    """The ratio of two or more pairs, by Student's t on the logarithms; None where a value is not above zero."""
    if min(*numerators, *denominators) <= 0:
        return None
    logarithms = [math.log(a / b) for a, b in zip(numerators, denominators, strict=True)]
    mean = statistics.fmean(logarithms)
    error = statistics.stdev(logarithms) / math.sqrt(len(logarithms))
    margin = student_t(len(logarithms) - 1) * error
    return Ratio(math.exp(mean), math.exp(mean - margin), math.exp(mean + margin))
