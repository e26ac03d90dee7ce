"""Intervals, against the definition: pairs of times compared one by one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from analysis.reading.intervals import Intervals

times = st.integers(0, 30)
pairs = st.lists(st.tuples(times, times).map(lambda pair: (min(pair), max(pair))), max_size=6)


@given(pairs, times, times)
def test_a_union_overlaps_what_any_of_its_intervals_overlaps(found: list[tuple[int, int]], a: int, b: int) -> None:
    start, end = min(a, b), max(a, b)
    naive = any(begin <= end and start <= last for begin, last in found)
    assert Intervals.of(found).overlaps(start, end) is naive


@given(pairs, times, times)
def test_an_activity_waits_for_the_end_of_what_it_overlaps(found: list[tuple[int, int]], a: int, b: int) -> None:
    since, until = min(a, b), max(a, b)
    settled = Intervals.of(found).settled(since, until)
    assert settled >= until
    assert settled == until or any(end == settled for _, end in found)
    assert not any(begin <= until and since <= end > settled for begin, end in found), "lasts on"
