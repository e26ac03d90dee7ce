"""Pacing of writes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from broker_service.links.session import BURST, FRAME_INTERVAL, Pace
from record.time_units import SECOND

INTERVAL = round(FRAME_INTERVAL * SECOND)


def test_a_busy_stream_is_paced() -> None:
    pace = Pace(0)
    assert [pace.take(0) for _ in range(int(BURST))] == [0] * int(BURST)
    assert pace.take(0) == INTERVAL
    assert pace.take(INTERVAL) == 2 * INTERVAL
    assert pace.take(4 * INTERVAL) == 4 * INTERVAL


@given(st.lists(st.integers(0, 5 * INTERVAL), max_size=200))
def test_writes_exceed_the_pace_by_the_burst_at_most(pauses: list[int]) -> None:
    """For any times of writes, no stretch of time has more writes than its intervals and one burst."""
    pace, now, times = Pace(0), 0, []
    for pause in pauses:
        now = pace.take(now + pause)
        times.append(now)
    for first in range(len(times)):
        for last in range(first, len(times)):
            intervals = (times[last] - times[first]) / INTERVAL
            assert last - first + 1 <= intervals + BURST + 1 + 1e-6


def test_a_moderate_stream_never_waits() -> None:
    pace = Pace(0)
    assert all(pace.take(number * INTERVAL) == number * INTERVAL for number in range(1000))
