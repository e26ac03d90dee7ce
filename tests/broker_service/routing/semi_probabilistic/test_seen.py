"""The memory of events: nothing is forgotten before its age, and nothing is kept for more than twice as long."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from broker_service.routing.semi_probabilistic.seen import SeenEvents

AGE = 10


class Clock:
    def __init__(self) -> None:
        self.time = 0.0

    def now(self) -> float:
        return self.time


@given(steps=st.lists(st.tuples(st.integers(0, 25), st.sampled_from(["A.1", "B.1"])), max_size=40))
def test_events_are_remembered_for_one_to_two_ages(steps: list[tuple[int, str]]) -> None:
    clock = Clock()
    seen = SeenEvents(AGE, clock.now)
    added: dict[tuple[str, int], float] = {}
    for number, (waited, publisher) in enumerate(steps, start=1):
        clock.time += waited
        assert all(seen.has(*event) for event, time in added.items() if clock.time - time < AGE)
        assert not seen.has(publisher, number)
        seen.add(publisher, number)
        added[publisher, number] = clock.time
        assert not any(seen.has(*event) for event, time in added.items() if clock.time - time >= 2 * AGE)


def test_publishers_are_told_apart() -> None:
    seen = SeenEvents(AGE, Clock().now)
    seen.add("A.1", 1)
    assert seen.has("A.1", 1)
    assert not seen.has("A.2", 1)


def test_a_burst_does_not_push_anything_out() -> None:
    seen = SeenEvents(AGE, Clock().now)
    for number in range(100_000):
        seen.add("A.1", number)
    assert all(seen.has("A.1", number) for number in range(100_000))
    assert len(seen) == 100_000
