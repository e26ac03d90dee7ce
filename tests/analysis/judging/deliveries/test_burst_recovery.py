"""Largest delays of largest_delays, and when a burst is over, against what is counted one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.judging.deliveries.burst_recovery import Point, largest_delays, stable_after


def test_the_largest_delay_of_each_stretch_in_the_order_of_arrival() -> None:
    came = [50, 10, 20, 30, 40]
    assert largest_delays(came, [5.0, 1.0, 9.0, 3.0, 2.0], 2) == [Point(20, 9.0), Point(40, 3.0), Point(50, 5.0)]
    assert largest_delays([], [], 2) == []


@given(st.lists(st.tuples(st.integers(0, 50), st.floats(0, 1e6)), max_size=60), st.integers(1, 20))
def test_stretches_as_counted_one_by_one(rows: list[tuple[int, float]], length: int) -> None:
    ordered = sorted(rows, key=lambda row: row[0])
    cut = [ordered[start : start + length] for start in range(0, len(ordered), length)]
    expected = [Point(part[-1][0], max(delay for _, delay in part)) for part in cut]
    assert largest_delays(np.array([row[0] for row in rows]), [row[1] for row in rows], length) == expected


@pytest.mark.parametrize(
    ("delays", "after"),
    [
        ([3, 4, 4, 4, 4], 0),
        ([3, 4, 8, 8, 8], 0),
        ([3, 4, 9, 1, 1], 5),
        ([3, 4, 1, 1, 9], 25),
        ([3, 4, 50, 8, 8.5], 25),
        ([3, 4, 50, 60, 8], 15),
    ],
)
def test_stable_after_the_last_delay_that_is_not_normal(delays: list[float], after: int) -> None:
    """Points come at 0, 10, 20, ...; two lie before the burst, which begins at 15: normal is up to 8."""
    points = [Point(10 * place, delay) for place, delay in enumerate(delays)]
    assert stable_after(points, 15) == after


def test_nobody_knows_what_is_normal_where_nothing_came_before() -> None:
    assert stable_after([Point(5, 1.0)], 5) is None
