"""Gauges over time: the load of brokers in each second."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.reading.gauges import BrokerLoadInSecond, LoadedBroker, LoadReadings
from record.time_units import SECOND

B1 = LoadedBroker(0, "B1")


def loads(readings: LoadReadings, start: int | None = 0) -> list[BrokerLoadInSecond]:
    return [load for _, load in readings.loads([start])]


def test_load_is_the_work_between_two_readings_and_counts_for_their_middle() -> None:
    readings = LoadReadings()
    for time, work, memory in ((-1.2, 0.5, 10), (-0.2, 0.6, 20), (0.8, 0.9, 15), (1.8, 1.9, 15)):
        readings.show(B1, 1, round(time * SECOND), round(work * SECOND), memory)
    shown = loads(readings)
    assert [(load.second, load.memory) for load in shown] == [(-1, 20), (0, 15), (1, 15)]
    assert [load.share for load in shown] == pytest.approx([0.1, 0.3, 1.0])


def test_two_intervals_in_one_second_are_one_row() -> None:
    readings = LoadReadings()
    for time, work in ((0.0, 0.0), (0.4, 0.4), (0.9, 0.4)):
        readings.show(B1, 1, round(time * SECOND), round(work * SECOND), None)
    (load,) = loads(readings)
    assert (load.second, load.memory) == (0, None)
    assert load.share == pytest.approx(0.4 / 0.9)


def test_a_restart_is_no_load() -> None:
    """The second incarnation begins with more work behind it than the first had done."""
    readings = LoadReadings()
    for incarnation, time, work in ((1, 0, 0.1), (1, 1, 0.2), (2, 5, 0.7), (2, 6, 0.9)):
        readings.show(B1, incarnation, time * SECOND, round(work * SECOND), None)
    shown = loads(readings)
    assert [load.second for load in shown] == [0, 5]
    assert [load.share for load in shown] == pytest.approx([0.1, 0.2])


def test_a_variant_that_never_ran_has_no_seconds() -> None:
    readings = LoadReadings()
    readings.show(B1, 1, 0, 0, None)
    readings.show(B1, 1, SECOND, 0, None)
    assert loads(readings, None) == []


@given(st.lists(st.integers(0, SECOND), min_size=1, max_size=20), st.integers(0, 100), st.integers(1, 4))
def test_readings_come_in_any_order_from_any_share_of_the_logs(work: list[int], seed: int, shares: int) -> None:
    """The sum of share x time is the whole work, however the logs were divided."""
    rows, total = [], 0
    for second, more in enumerate([0, *work]):
        total += more
        rows.append((1, second * SECOND, total, None))
    rng = random.Random(seed)
    rng.shuffle(rows)
    parts = [LoadReadings() for _ in range(shares)]
    for row in rows:
        rng.choice(parts).show(B1, *row)
    whole = LoadReadings()
    for part in parts:
        for shown in part:
            whole.add(shown)
    found = loads(whole)
    assert [load.second for load in found] == list(range(len(work)))
    assert [load.share * SECOND for load in found] == pytest.approx(work)
