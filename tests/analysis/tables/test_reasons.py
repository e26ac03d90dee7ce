"""Counts by reason, against a counter."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from analysis.tables.reasons import Reason, by_reason, count, total

found = st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 3)), max_size=8)


@given(found, found)
def test_reasons_add_up_however_they_are_divided(first: list[tuple[str, int]], second: list[tuple[str, int]]) -> None:
    parts: tuple[list[Reason], list[Reason]] = ([], [])
    for part, of_part in zip(parts, (first, second), strict=True):
        for name, times in of_part:
            count(part, name, times)
    wanted: Counter[str] = Counter()
    for name, times in (*first, *second):
        wanted[name] += times
    assert list(by_reason(total(*parts)).items()) == sorted(wanted.items())
