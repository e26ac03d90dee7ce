"""The audit of service and send times blames chance on nobody."""

from __future__ import annotations

import math

import pytest

from analysis.auditing.service_audit import _by_chance
from record.service_time import Distribution, ServiceTime
from record.time_units import SECOND

MEAN = 0.0037


def greater(count: int, total: float) -> float:
    """Probability that so many exponential times of mean 1 add up to more than `total`, which is that of fewer events
    of a Poisson process until then."""
    return math.fsum(math.exp(k * math.log(total) - total - math.lgamma(k + 1)) for k in range(count))


@pytest.mark.parametrize("count", [10, 18, 100, 1000])
def test_a_mean_of_exponential_times_is_outside_once_in_a_hundred_thousand_runs_at_most(count: int) -> None:
    least, most = _by_chance(ServiceTime(mean=MEAN, distribution=Distribution.EXPONENTIAL), count)
    above = greater(count, count * most / (MEAN * SECOND))
    below = 1 - greater(count, count * least / (MEAN * SECOND))
    assert 1e-7 < above < 1e-5
    assert below < 1e-5


def test_a_constant_time_does_not_vary() -> None:
    assert _by_chance(ServiceTime(mean=MEAN), 10) == (MEAN * SECOND, MEAN * SECOND)


def test_times_of_a_known_deviation_have_means_on_both_sides_alike() -> None:
    least, most = _by_chance(ServiceTime(mean=MEAN, distribution=Distribution.UNIFORM, deviation=MEAN / 2), 100)
    assert most - MEAN * SECOND == pytest.approx(MEAN * SECOND - least)
    assert most - MEAN * SECOND == pytest.approx(4.5 * MEAN / 2 / math.sqrt(3) / 10 * SECOND)
