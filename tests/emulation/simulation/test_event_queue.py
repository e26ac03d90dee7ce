"""Virtual time: the order of calls, against a list that is sorted after each step."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulation.live_overlay.contract import UnsettledError
from emulation.simulation.event_queue import EventQueue

Plan = tuple[str, int, tuple["Plan", ...]]
"""The kind of a call, its delay, which is 0 for one that is made soon, and the calls that it schedules in turn."""

SOON, WORK, BACKGROUND = "soon", "work", "background"
calls = st.tuples(st.sampled_from([WORK, BACKGROUND]), st.integers(0, 3)) | st.just((SOON, 0))


def planned_call(call: tuple[str, int], following: Sequence[Plan] = ()) -> Plan:
    return *call, tuple(following)


plans: st.SearchStrategy[Plan] = st.recursive(
    calls.map(planned_call),
    lambda inner: st.builds(planned_call, calls, st.lists(inner, max_size=4)),
    max_leaves=30,
)


class Schedule:
    """Schedules plans in a queue, numbers them in the order of scheduling, and notes the calls made."""

    def __init__(self, queue: EventQueue) -> None:
        self.queue = queue
        self.made: list[tuple[int, int]] = []
        """Time and number of each call."""
        self._scheduled = 0

    def add(self, plan: Plan) -> None:
        kind, delay, inner = plan
        number = self._scheduled
        self._scheduled += 1

        def call() -> None:
            self.made.append((self.queue.now, number))
            for following in inner:
                self.add(following)

        if kind == SOON:
            self.queue.soon(call)
        elif kind == WORK:
            self.queue.at(self.queue.now + delay, call)
        else:
            self.queue.background(self.queue.now + delay, call)


def expected(planned: list[Plan]) -> list[tuple[int, int]]:
    """The calls in order, by a plain list of (time, True for a call that is not soon, number, plan)."""
    made, now, scheduled = [], 0, 0
    waiting: list[tuple[int, bool, int, Plan]] = []

    def add(plan: Plan) -> None:
        nonlocal scheduled
        kind, delay, _ = plan
        waiting.append((now + delay, kind != SOON, scheduled, plan))
        scheduled += 1

    for plan in planned:
        add(plan)
    while waiting:
        first = min(waiting, key=lambda entry: entry[:3])
        waiting.remove(first)
        now = first[0]
        made.append((now, first[2]))
        for plan in first[3][2]:
            add(plan)
    return made


@given(st.lists(plans, max_size=8), st.lists(st.integers(0, 4), max_size=5))
def test_calls_are_made_in_the_order_of_times_and_of_scheduling(planned: list[Plan], pauses: list[int]) -> None:
    queue = EventQueue()
    schedule = Schedule(queue)
    for plan in planned:
        schedule.add(plan)
    for pause in pauses:
        queue.run_until(queue.now + pause)
    assert queue.now == sum(pauses)
    queue.run_until(queue.now + 1_000)
    assert schedule.made == expected(planned)
    assert queue.settled


def test_a_call_that_fails_leaves_the_others_waiting() -> None:
    queue = EventQueue()
    made = []
    queue.at(5, lambda: made.append(1 // len(made)))
    queue.at(5, lambda: made.append(2))
    with pytest.raises(ZeroDivisionError):
        queue.run_until(9)
    assert not queue.settled
    queue.settle(within=1)
    assert made == [2]


def test_only_work_keeps_a_queue_from_being_settled() -> None:
    queue = EventQueue()
    queue.background(3, queue.clock)
    assert queue.settled
    queue.at(2, queue.clock)
    assert not queue.settled
    queue.settle(within=2)
    assert (queue.now, queue.settled) == (2, True)
    queue.pending += 1
    with pytest.raises(UnsettledError, match="1 timer or held request is left"):
        queue.settle(within=7)


def test_a_queue_looks_up_while_no_virtual_time_passes() -> None:
    queue, looks = EventQueue(), 0

    def look() -> None:
        nonlocal looks
        looks += 1

    queue.look = look
    for _ in range(10_000):
        queue.at(5, lambda: None)
    queue.run_until(5)
    assert looks == 9
