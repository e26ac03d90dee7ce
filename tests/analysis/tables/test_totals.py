"""The total of tallies, against sums in plain Python."""

from __future__ import annotations

from collections import defaultdict

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.tables import totals
from analysis.tables.totals import Largest, LargestKnown, OfLargest, Sum, Tallies


class _Count(msgspec.Struct, frozen=True):
    name: str
    number: int
    times: Sum
    largest: Largest
    example: OfLargest


class _Known(msgspec.Struct, frozen=True):
    name: str
    known: LargestKnown


class _Fact(msgspec.Struct, frozen=True):
    path: tuple[str, ...]


class _Part(msgspec.Struct):
    facts: list[_Fact] = []


class _Tally(msgspec.Struct):
    counts: list[_Count] = []
    known: list[_Known] = []
    part: _Part = msgspec.field(default_factory=_Part)


_NUMBERS = st.integers(0, 3)
_NAMES = st.sampled_from(("a", "b", "ü"))
_COUNTS = st.builds(_Count, _NAMES, _NUMBERS, _NUMBERS, _NUMBERS, _NAMES)
_KNOWN = st.builds(_Known, _NAMES, st.none() | _NUMBERS)
_FACTS = st.builds(_Fact, st.lists(_NAMES, max_size=2).map(tuple))
_TALLIES = st.builds(
    _Tally,
    st.lists(_COUNTS, max_size=5),
    st.lists(_KNOWN, max_size=3),
    st.builds(_Part, st.lists(_FACTS, max_size=2)),
)


def _added_up(counts: list[_Count]) -> list[_Count]:
    by_key: defaultdict[tuple[str, int], list[_Count]] = defaultdict(list)
    for count in counts:
        by_key[count.name, count.number].append(count)
    return [
        _Count(
            *key,
            sum(count.times for count in found),
            *max((count.largest, count.example) for count in found),
        )
        for key, found in sorted(by_key.items())
    ]


@given(st.lists(_TALLIES, max_size=4), st.integers(2, 5))
def test_rows_with_the_same_key_become_one(tallies: list[_Tally], together: int) -> None:
    """However many are added up on the way."""
    total = Tallies(_Tally)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(totals, "_ADDED_TOGETHER", together)
        for tally in tallies:
            total.merge(Tallies.of(tally))
    found = total.total()
    assert found.counts == _added_up([count for tally in tallies for count in tally.counts])
    known = {row.name: row.known for row in found.known}
    for name in known:
        numbers = [row.known for tally in tallies for row in tally.known if row.name == name]
        assert known[name] == max((number for number in numbers if number is not None), default=None)
    assert known.keys() == {row.name for tally in tallies for row in tally.known}
    assert found.part.facts == [fact for tally in tallies for fact in tally.part.facts]


def test_sums_wrap_around() -> None:
    """So sums of digests need no more than 64 bits."""
    total = Tallies(_Tally)
    for _ in range(2):
        total.merge(Tallies.of(_Tally([_Count("a", 0, (1 << 63) - 1, 0, "")])))
    assert [count.times for count in total.total().counts] == [-2]
