"""Sets of positions as ranges, against sets."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from broker_service.routing.gryphon.streams.ranges import RangeSet

MOST = 24
ranges = st.tuples(st.integers(0, MOST), st.integers(0, MOST))
operations = st.lists(st.tuples(st.sampled_from(("add", "include", "remove", "forget")), ranges), max_size=12)


@given(operations, ranges)
def test_ranges_are_the_positions_that_they_hold(
    done: list[tuple[str, tuple[int, int]]], asked: tuple[int, int]
) -> None:
    found, expected = RangeSet(), set[int]()
    for operation, (start, end) in done:
        if operation == "add":
            found.add(start, end)
            expected |= set(range(start, end))
        elif operation == "include":
            assert found.include(start) == (start not in expected)
            expected.add(start)
        elif operation == "remove" and start <= end:
            found.remove(start, end)
            expected -= set(range(start, end))
        elif operation == "forget":
            found.forget_below(start)
            expected -= set(range(start))
    listed = list(found)
    assert {position for start, end in listed for position in range(start, end)} == expected
    assert all(start < end for start, end in listed)
    assert all(former[1] < latter[0] for former, latter in pairwise(listed))
    assert found.count == len(listed)
    assert bool(found) == bool(expected)
    start, end = asked
    inside = {position for first, behind in found.within(start, end) for position in range(first, behind)}
    outside = {position for first, behind in found.absent(start, end) for position in range(first, behind)}
    assert inside == expected & set(range(start, end))
    assert outside == set(range(start, end)) - expected
    for position in range(MOST + 1):
        assert (position in found) == (position in expected)
        behind = position
        while behind in expected:
            behind += 1
        assert found.end_of(position) == behind
        first = position
        while first - 1 in expected:
            first -= 1
        assert found.start_of(position) == first
