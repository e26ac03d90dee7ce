"""Turns over a few processors: their lateness and their waits by hand."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from emulation.prediction.contention import Work, mean_of, scheduled
from emulation.prediction.turns import Turn, Way


def lateness(turns: Sequence[Turn], processors: int, dilation: float = 1.0) -> list[int]:
    return scheduled(turns, [Work(turn.work, turn.work) for turn in turns], processors, dilation).late


def test_turns_that_are_ready_together_share_the_processors() -> None:
    flood = [Turn(f"B{number}", 0, 10) for number in range(5)]
    assert lateness(flood, 5) == [0, 0, 0, 0, 0]
    assert lateness(flood, 2) == [0, 0, 10, 10, 20]
    assert lateness(flood, 1) == [0, 10, 20, 30, 40]


def test_a_node_has_one_turn_at_a_time() -> None:
    turns = [Turn("B1", 0, 10), Turn("B1", 10, 10), Turn("B2", 5, 10)]
    assert lateness(turns, 1) == [0, 10, 5], "the turn that is ready first comes first"
    assert lateness(turns, 2) == [0, 0, 0]


def test_others_pass_a_turn_whose_node_is_busy() -> None:
    turns = [Turn("B1", 0, 100), Turn("B2", 0, 10), Turn("B1", 5, 10), Turn("B3", 20, 10)]
    assert lateness(turns, 2) == [0, 0, 95, 0], "a processor is free for B3 while B1's second turn waits for its first"


@pytest.mark.parametrize(("dilation", "late"), [(1.0, [0, 8]), (3.0, [0, 4]), (5.0, [0, 0])])
def test_a_dilation_moves_turns_apart(dilation: float, late: list[int]) -> None:
    assert lateness([Turn("B1", 0, 10), Turn("B2", 2, 10)], 1, dilation) == late


def test_a_turn_is_late_with_its_cause_and_the_wait_counts_once() -> None:
    flood = [Turn("B1", 0, 10), Turn("B2", 0, 10), Turn("B3", 0, 10)]
    assert lateness([*flood, Turn("S", 10, 1, cause=2)], 1)[3] == 20, "B3 was 20 late, and so is what it causes"
    assert lateness([*flood, Turn("S", 10, 1, cause=2)], 2)[3] == 10, "a processor is free at 10, and B3 ends at 20"


def test_a_dilation_stretches_what_is_between_turns_and_not_the_turns() -> None:
    way = [Turn("B1", 0, 10), Turn("B2", 15, 10, cause=0)]
    other = Turn("B3", 19, 10)
    assert lateness([*way, other], 1) == [0, 0, 6]
    assert lateness([*way, other], 1, 2.0) == [0, 0, 0], "B2 has its turn from 20 to 30, and B3 at 38"


def test_a_burst_that_one_wake_up_carries_wakes_many_at_once() -> None:
    relayed = [Turn("relay", 0, 10, -1) for _ in range(4)]
    woken = [Turn(f"B{number}", 10, 10, cause=number) for number in range(4)]
    works = [Work(10, 2)] * 4 + [Work(10, 10)] * 4
    every_time = [Work(10, 10)] * 8
    turns = [*relayed, *woken]
    assert scheduled(turns, every_time, 5).late == [0, 10, 20, 30, 0, 10, 20, 30], "the relay alone is in the way"
    assert scheduled(turns, works, 5).late == [0, 10, 12, 14, 0, 2, 4, 6], "messages are carried one after the other"
    found = scheduled(turns, works, 2)
    assert found.late == [0, 10, 12, 14, 0, 6, 10, 16], (
        "brokers wait for the two processors, of which the relay has one"
    )
    assert found.worked == 10 + 3 * 2 + 4 * 10
    assert scheduled(turns, every_time, 2).worked == 80


def test_a_node_that_slept_is_woken_up_again() -> None:
    turns = [Turn("relay", 0, 10), Turn("relay", 5, 10), Turn("relay", 40, 10)]
    assert scheduled(turns, [Work(10, 2)] * 3, 1) == ([0, 5, 0], [0, 0, 0], 22)


def waits(turns: Sequence[Turn], processors: int) -> list[int]:
    return scheduled(turns, [Work(turn.work, turn.work) for turn in turns], processors).waited


def test_waits_are_those_of_all_turns_on_the_way() -> None:
    way = [Turn("B1", 0, 10), Turn("B2", 20, 10, cause=0), Turn("B3", 40, 10, cause=1)]
    others = [Turn("B4", -1, 5), Turn("B5", 23, 5)]
    assert waits([*way, *others], 1) == [4, 8, 8, 0, 0], (
        "behind B4; B2 is ready at 24, and B5 has the processor until 28"
    )
    assert lateness([*way, *others], 1)[:3] == [4, 8, 8]


def test_what_a_node_works_meanwhile_is_backlog_and_no_wait() -> None:
    turns = [Turn("B1", 0, 10), Turn("B1", 4, 10), Turn("B1", 8, 10)]
    assert (lateness(turns, 1), waits(turns, 1)) == ([0, 6, 12], [0, 0, 0])
    behind = [Turn("B2", 0, 7), *(turn._replace(ready=turn.ready + 1) for turn in turns)]
    assert lateness(behind, 1) == [0, 6, 12, 18]
    assert waits(behind, 1) == [0, 6, 2, 0], "B2 has the processor until 7, and then B1 works without a break"


def test_a_turn_waits_where_others_come_between_it_and_the_one_before() -> None:
    turns = [Turn("B1", 0, 10), Turn("B1", 4, 10), Turn("B2", 3, 10)]
    assert waits(turns, 1) == [0, 10, 7], "B2 was ready first"
    assert waits(turns, 2) == [0, 0, 0]


def test_a_node_that_is_woken_up_waits_where_a_processor_is_free() -> None:
    turns = [Turn("B1", 0, 10), Turn("B1", 5, 10), Turn("B2", 40, 10), Turn("S", 50, 1, cause=2)]
    works = [Work(10, 10, 7)] * 3 + [Work(1, 1)]
    assert scheduled(turns, works, 2).late == [7, 12, 7, 7], "B1 is awake when it comes to its second turn"


def test_the_wait_to_be_woken_up_passes_while_others_have_the_processors() -> None:
    turns = [Turn("relay", 0, 30), Turn("B1", 0, 10), Turn("B2", 25, 10)]
    works = [Work(30, 30), Work(10, 10, 7), Work(10, 10, 7)]
    assert scheduled(turns, works, 1).late == [0, 30, 15]


def test_the_mean_is_over_ways_and_in_the_scenarios_time() -> None:
    ways = [Way(1_000, 0), Way(1_000, 2)]
    assert mean_of(ways, [10, 20, 30]) == pytest.approx(20e-9)
    assert mean_of(ways, [10, 20, 30], 2.0) == pytest.approx(10e-9)
    assert mean_of([], []) == 0


def test_a_long_backlog_is_served_in_the_order_in_which_it_came() -> None:
    many = 50_000  # with a look at all that wait after each turn this would take hours
    turns = [Turn("B1", 0, 10) for _ in range(many)] + [Turn("B2", 0, 1)]
    assert lateness(turns, 2) == [*range(0, 10 * many, 10), 0]
