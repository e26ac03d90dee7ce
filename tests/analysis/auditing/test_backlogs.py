"""The backlog that waits for a processor made at a broker, by turns whose numbers are checked by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from analysis.auditing.backlogs import BacklogStage, backlogs
from analysis.auditing.hops.asked import AskedVariant
from analysis.auditing.hops.turns import TURNS
from analysis.engines.arrays import keyed_lists
from analysis.reading.publication_events import UNKNOWN
from analysis.run_files.processor_times import ProcessorTimes
from record.time_units import MILLISECOND

Turn = tuple[int, int, int]
"""Milliseconds at which a message was due, was logged to have arrived, and had its turn."""
PILED: Sequence[Turn] = [(5, 20, 24), (10, 20, 28), (15, 20, 32), (40, 40, 44)]
"""Messages that take 4 ms each, of which three come while the broker waits from 4 to 20."""
IN_LINE: Sequence[Turn] = [(5, 5, 9), (6, 6, 13), (7, 7, 17), (8, 8, 21)]
"""Messages that pile up without any wait."""
LATE: Sequence[Turn] = [(5, 5, 9), (6, 36, 40), (30, 30, 34), (31, 40, 44)]
"""The second of these messages was on its link for 30 ms longer than asked."""


def ran(spans: Sequence[tuple[int, int]], waited: tuple[int, int] = (0, 0)) -> ProcessorTimes:
    """A node that ran in these spans of milliseconds, and waited in one before."""
    begin, end = np.array([waited, *spans], dtype=np.int64).T * MILLISECOND
    waiting = np.zeros_like(begin)
    waiting[0] = end[0] - begin[0]
    return ProcessorTimes.of(begin, end, waiting, end - begin - waiting)


def behind(turns: Sequence[Turn], times: ProcessorTimes) -> list[float]:
    """The milliseconds of backlog ahead of each."""
    due, arrived, turn = (np.array(column, dtype=np.int64) * MILLISECOND for column in zip(*turns, strict=True))
    return (backlogs(turn, due, arrived, times) / MILLISECOND).tolist()


def test_work_that_piled_up_during_a_wait_is_backlog_and_the_wait_itself_is_not() -> None:
    # Without the wait, turns are at 9, 14, 19 and 44; the messages themselves wait for 15, 10, 5 and 0 ms.
    assert behind(PILED, ran([(20, 32), (40, 44)], waited=(4, 20))) == [0, 4, 8, 0]


def test_backlog_is_no_more_than_the_turns_show_where_they_are_in_another_order() -> None:
    # The message that was ready first has its turn last: that others were taken before it is no backlog of the wait.
    turns = [(10, 20, 24), (15, 20, 28), (5, 20, 32)]
    assert behind(turns, ran([(20, 32)], waited=(4, 20))) == [0, 4, 0]


@pytest.mark.parametrize(
    ("turns", "times"),
    [
        (IN_LINE, ran([(5, 21)])),
        (LATE, ran([(5, 9), (30, 34), (36, 44)])),
        ([(5, 5, 9), (10, 10, 14)], ran([(5, 9), (10, 14)], waited=(0, 4))),
    ],
)
def test_what_no_wait_made_is_no_backlog(turns: Sequence[Turn], times: ProcessorTimes) -> None:
    assert sum(behind(sorted(turns, key=lambda turn: turn[2]), times)) <= 0


def test_a_quota_of_the_brokers_own_makes_no_backlog() -> None:
    times = ran([(20, 32), (40, 44)], waited=(4, 20))
    held_back = ProcessorTimes.of(*(np.array([time * MILLISECOND]) for time in (4, 20, 16)))
    planned = ProcessorTimes(times.begins, times.begun, times.ends, times.ended, times.marks, times.running, held_back)
    assert behind(PILED, planned) == [0, 0, 0, 0]


def test_a_turn_counts_once_for_each_notification_on_whose_way_it_is() -> None:
    """A client published the second of the messages; the others came over links."""
    times = ran([(20, 32), (40, 44)], waited=(4, 20))
    over_links = [(0, turn, due, arrived) for due, arrived, turn in PILED if due != 10]
    passed = [(0, 28, 10, 3), (0, 32, UNKNOWN, 2), (1, 32, UNKNOWN, 100)]
    parts = [keyed_lists(TURNS, [0], turns=[milliseconds(over_links)]), keyed_lists(TURNS, [0], passed=[of(passed)])]
    variant = AskedVariant(links={}, processors={"A": times})
    (found,) = BacklogStage([variant], ["A", "B"])(pa.concat_tables(parts)).backlogs
    assert (found.variant, found.backlog) == (0, (3 * 4 + 2 * 8) * MILLISECOND), "B was not sampled"


def milliseconds(rows: Sequence[tuple[int, ...]]) -> np.ndarray:
    """Rows whose first column is no time."""
    found = np.array(rows, dtype=np.int64)
    found[:, 1:] *= MILLISECOND
    return found


def of(passed: Sequence[tuple[int, int, int, int]]) -> np.ndarray:
    """Rows of broker, turn, time of publishing, and notifications."""
    found = np.array(passed, dtype=np.int64)
    times = found[:, 1:3]
    found[:, 1:3] = np.where(times == UNKNOWN, UNKNOWN, times * MILLISECOND)
    return found
