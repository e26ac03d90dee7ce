"""The tolerances of links."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulation.network.probing.tolerance import delay_tolerance, loss_interval, rate_is_kept


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
