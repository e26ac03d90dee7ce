from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from broker_service.routing.tid.placement.recently_seen import RecentlySeen

SPAN = 10.0


class Clock:
    """Seconds that a test lets pass."""

    time = 0.0

    def __call__(self) -> float:
        return self.time


def test_a_set_is_new_once() -> None:
    sets: RecentlySeen[tuple[str, ...]] = RecentlySeen(SPAN, Clock())
    assert [sets.add(one) for one in (("p", "q"), ("p", "q"), ("p",), ("q", "p"))] == [True, False, True, True]


@given(st.lists(st.tuples(st.floats(0, 25), st.integers(0, 3))))
def test_a_set_is_remembered_for_the_span_and_forgotten_after_three(steps: list[tuple[float, int]]) -> None:
    clock = Clock()
    sets: RecentlySeen[tuple[str, ...]] = RecentlySeen(SPAN, clock)
    added: dict[int, float] = {}
    for pause, number in steps:
        clock.time += pause
        new = sets.add((str(number),))
        if number in added and clock.time - added[number] <= SPAN:
            assert not new
        if new:
            added[number] = clock.time
    clock.time += 3 * SPAN + 1
    sets.add(("another",))
    assert len(sets) == 1


def test_nothing_is_forgotten_by_time_while_it_is_held_nor_for_the_span_after() -> None:
    clock = Clock()
    sets: RecentlySeen[tuple[str, ...]] = RecentlySeen(SPAN, clock)
    sets.add(("p",))
    sets.hold()
    for number in range(10):
        clock.time += SPAN
        assert sets.add((str(number),)) and not sets.add(("p",))
    sets.release()
    clock.time += SPAN
    assert not sets.add(("p",))
    for number in range(10, 14):
        clock.time += SPAN
        sets.add((str(number),))
    assert sets.add(("p",))


def test_no_more_than_the_bound_are_remembered_and_the_latest_half_are() -> None:
    sets: RecentlySeen[tuple[str, ...]] = RecentlySeen(SPAN, Clock(), most=10)
    for number in range(100):
        sets.add((str(number),))
        assert len(sets) <= 10
    assert not any(sets.add((str(number),)) for number in range(95, 100))
