"""The tolerances of links."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulation.network.probing.tolerance import delay_tolerance, loss_interval, rate_is_kept, too_narrow, too_wide
from emulation.network.relay.shaping import standard_quantiles
from topology.link_properties import JitterDistribution, LinkProperties


def test_delay_tolerance_is_a_floor_then_a_share() -> None:
    assert delay_tolerance(0.005, 0, 20) == 0.3e-3
    assert delay_tolerance(0.100, 0, 20) == pytest.approx(2e-3)


def test_delay_tolerance_shrinks_to_that_with_samples() -> None:
    assert delay_tolerance(0.005, 0.001, 10) > delay_tolerance(0.005, 0.001, 1_000) > 0.3e-3


@pytest.mark.parametrize(("measured", "kept"), [(10.3e6, True), (10.31e6, False), (9.7e6, True), (9.69e6, False)])
def test_rate(measured: float, kept: bool) -> None:
    assert rate_is_kept(10e6, measured) is kept


def exact_probability(sent: int, lost: int, share: float) -> float:
    return math.comb(sent, lost) * share**lost * (1 - share) ** (sent - lost)


@given(st.integers(1, 200), st.floats(0.001, 0.999))
def test_loss_interval_is_the_central_one(sent: int, share: float) -> None:
    low, high = loss_interval(sent, share)
    probabilities = [exact_probability(sent, lost, share) for lost in range(sent + 1)]
    slack = 1e-9
    assert sum(probabilities[:low]) <= 0.005 + slack
    assert sum(probabilities[: low + 1]) > 0.005 - slack
    assert sum(probabilities[high + 1 :]) <= 0.005 + slack
    assert sum(probabilities[high:]) > 0.005 - slack


def test_no_loss_and_all_loss_leave_no_room() -> None:
    assert loss_interval(100, 0.0) == (0, 0)
    assert loss_interval(100, 1.0) == (100, 100)


def drawn(properties: LinkProperties, times: float, count: int, source: random.Random) -> list[float]:
    """Delays of a link whose jitter is that many times as large as asked."""
    quantiles = standard_quantiles(properties.distribution)
    return [max(0.0, properties.delay + times * properties.jitter * source.choice(quantiles)) for _ in range(count)]


@pytest.mark.parametrize("distribution", JitterDistribution)
@pytest.mark.parametrize("count", [7, 20, 60])
def test_jitter_as_asked_rarely_looks_wrong_and_absent_jitter_always_does(
    distribution: JitterDistribution, count: int
) -> None:
    properties, source = LinkProperties(delay=0.02, jitter=0.004, distribution=distribution), random.Random(1)
    asked = [drawn(properties, 1, count, source) for _ in range(300)]
    assert sum(too_wide(properties, delays) for delays in asked) <= 9
    assert sum(too_narrow(properties, delays) for delays in asked) <= 9
    assert all(too_narrow(properties, drawn(properties, 0, count, source)) for _ in range(20))


@pytest.mark.parametrize("distribution", JitterDistribution)
def test_jitter_three_times_as_large_is_seen_in_twenty_delays(distribution: JitterDistribution) -> None:
    properties, source = LinkProperties(delay=0.02, jitter=0.004, distribution=distribution), random.Random(2)
    assert sum(too_wide(properties, drawn(properties, 3, 20, source)) for _ in range(200)) >= 190
