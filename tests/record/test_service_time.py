"""Service times: what is drawn is what was asked for, and the same again from the same seed."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Callable
from random import Random

import msgspec
import pytest

from broker_service.config import BrokerConfig
from record.service_time import LONGEST, NEEDS_DEVIATION, SHORTEST, Distribution, ServiceTime

DRAWS = 20_000
EXPONENTIAL = ServiceTime(mean=0.002, distribution=Distribution.EXPONENTIAL)
UNIFORM = ServiceTime(mean=0.003, distribution=Distribution.UNIFORM, deviation=0.001)
LOGNORMAL = ServiceTime(mean=0.002, distribution=Distribution.LOGNORMAL, deviation=0.003)


def draws(sampler: Callable[[], int], count: int = DRAWS) -> list[float]:
    """In milliseconds."""
    return [sampler() / 1e6 for _ in range(count)]


def share_below(times: list[float], limit: float) -> float:
    return sum(time <= limit for time in times) / len(times)


def standard_error(deviation: float) -> float:
    return deviation / math.sqrt(DRAWS)


def test_a_constant_is_drawn_without_randomness() -> None:
    random = Random(1)
    before = random.getstate()
    assert set(draws(ServiceTime(mean=0.0025).sampler(random), 10)) == {2.5}
    assert random.getstate() == before


def test_uniform_draws_fill_the_range_evenly() -> None:
    times = draws(UNIFORM.sampler(Random(1)))
    assert 2 <= min(times) < 2.01
    assert 3.99 < max(times) <= 4
    for quantile in (0.1, 0.25, 0.5, 0.75, 0.9):
        assert share_below(times, 2 + 2 * quantile) == pytest.approx(quantile, abs=0.015)


def test_exponential_draws_have_the_mean_and_the_quantiles() -> None:
    times = draws(EXPONENTIAL.sampler(Random(1)))
    assert statistics.fmean(times) == pytest.approx(2, abs=4 * standard_error(2))
    for quantile in (0.1, 0.5, 0.9, 0.99):
        assert share_below(times, -2 * math.log(1 - quantile)) == pytest.approx(quantile, abs=0.015)


def test_lognormal_draws_have_the_mean_and_the_deviation() -> None:
    times = draws(LOGNORMAL.sampler(Random(1)))
    assert statistics.fmean(times) == pytest.approx(2, abs=4 * standard_error(3))
    variance = math.log(1 + (3 / 2) ** 2)
    normal = statistics.NormalDist(math.log(2) - variance / 2, math.sqrt(variance))
    for quantile in (0.1, 0.5, 0.9, 0.99):
        assert share_below(times, math.exp(normal.inv_cdf(quantile))) == pytest.approx(quantile, abs=0.015)


@pytest.mark.parametrize("service_time", [UNIFORM, EXPONENTIAL, LOGNORMAL], ids=lambda drawn: drawn.distribution)
def test_brokers_draw_streams_of_their_own_which_the_seed_fixes(service_time: ServiceTime) -> None:
    def times(**changes: object) -> tuple[float, ...]:
        settings = {"id": "B1", "incarnation": 1, "protocol": "tid", "seed": 1, "service_time": service_time} | changes
        return tuple(draws(msgspec.convert(settings, BrokerConfig).service_times(), 20))

    assert times() == times()
    streams = [times(), times(id="B2"), times(seed=2), times(incarnation=2)]
    assert all(a != b for a, b in itertools.combinations(streams, 2))


def test_only_a_time_above_zero_is_one() -> None:
    assert not ServiceTime()
    assert EXPONENTIAL
    assert set(draws(ServiceTime(distribution=Distribution.EXPONENTIAL).sampler(Random(1)), 3)) == {0.0}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"mean": -1.0}, "mean: a time is 0 or more seconds, not -1"),
        ({"mean": math.inf}, "mean: a time is 0 or more seconds, not inf"),
        ({"mean": 1e300}, "mean: a time is a nanosecond at least and a day at most, not 1e+300 s"),
        ({"mean": 1e-300}, "mean: a time is a nanosecond at least and a day at most, not 1e-300 s"),
        (
            {"mean": 1.0, "distribution": Distribution.LOGNORMAL, "deviation": 1e300},
            "deviation: a day at most, not 1e+300 s",
        ),
        ({"mean": 1.0, "deviation": 0.1}, "deviation: constant times have none of their own"),
        ({"mean": 1.0, "distribution": Distribution.UNIFORM}, "deviation: a uniform time needs one above 0"),
        (
            {"distribution": Distribution.LOGNORMAL, "deviation": 1.0},
            "mean: a lognormal time needs one above 0",
        ),
        (
            {"mean": 1.0, "distribution": Distribution.UNIFORM, "deviation": 1.5},
            "deviation: above the mean, so that times could be negative",
        ),
    ],
)
def test_impossible_times(fields: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError) as raised:
        ServiceTime(**fields)  # type: ignore[arg-type]
    assert str(raised.value) == message


@pytest.mark.parametrize("distribution", Distribution)
@pytest.mark.parametrize("mean", [SHORTEST, LONGEST])
def test_the_shortest_and_the_longest_times_can_be_drawn(distribution: Distribution, mean: float) -> None:
    width = mean if distribution is Distribution.UNIFORM else LONGEST
    deviation = width if distribution in NEEDS_DEVIATION else 0.0
    draw = ServiceTime(mean=mean, distribution=distribution, deviation=deviation).sampler(Random(1))
    assert all(draw() >= 0 for _ in range(1000))


def test_a_config_with_an_impossible_time_names_the_field() -> None:
    text = b'{"id": "B1", "incarnation": 1, "protocol": "tid", "service_time": {"mean": -1}}'
    with pytest.raises(msgspec.ValidationError, match=r"mean: .* at `\$\.service_time`"):
        msgspec.json.decode(text, type=BrokerConfig)
