"""The total of tallies, against sums in plain Python."""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.tables.totals import FirstRows, Largest, LargestKnown, Rows, Sum, Tally

MOST = 3


class _Worst(msgspec.Struct, frozen=True, order=True):
    by: int = 0
    example: str = ""


class _Count(msgspec.Struct):
    name: str
    number: int
    times: Sum = 0
    largest: Largest = 0
    known: LargestKnown = None
    worst: Annotated[_Worst, max] = _Worst()


class _Way(msgspec.Struct, frozen=True):
    group: int
    path: tuple[str, ...]


class _Fact(msgspec.Struct, frozen=True):
    name: str
    path: list[str]


@dataclass
class _Part(Tally):
    facts: Rows[_Fact] = field(default_factory=partial(Rows, _Fact, ("name",)))


@dataclass
class _Tally(Tally):
    counts: Rows[_Count] = field(default_factory=partial(Rows, _Count))
    ways: FirstRows[_Way] = field(default_factory=partial(FirstRows, _Way, MOST, ("group",), ("path",)))
    part: _Part = field(default_factory=_Part)


_NUMBERS = st.integers(0, 3)
_NAMES = st.sampled_from(("a", "b", "ü\n"))
_COUNTS = st.builds(
    _Count, _NAMES, _NUMBERS, _NUMBERS, _NUMBERS, st.none() | _NUMBERS, st.builds(_Worst, _NUMBERS, _NAMES)
)
_WAYS = st.builds(_Way, _NUMBERS, st.lists(_NAMES, max_size=2).map(tuple))


def _tally_of(counts: list[_Count], ways: list[_Way]) -> _Tally:
    tally = _Tally()
    for count in counts:
        tally.counts.add(msgspec.structs.replace(count))
    for way in ways:
        tally.ways.add(way)
        tally.part.facts.add(_Fact(str(way.group), [str(way.group)]))
    return tally


def _total(counts: list[_Count]) -> list[_Count]:
    by_key: defaultdict[tuple[str, int], list[_Count]] = defaultdict(list)
    for count in counts:
        by_key[count.name, count.number].append(count)
    return [
        _Count(
            *key,
            sum(count.times for count in found),
            max(count.largest for count in found),
            max((count.known for count in found if count.known is not None), default=None),
            max((count.worst for count in found), key=lambda worst: (worst.by, worst.example)),
        )
        for key, found in sorted(by_key.items())
    ]


@given(st.lists(st.tuples(st.lists(_COUNTS, max_size=5), st.lists(_WAYS, max_size=12)), max_size=4))
def test_rows_with_the_same_key_become_one(parts: list[tuple[list[_Count], list[_Way]]]) -> None:
    total = _Tally()
    for counts, ways in parts:
        total.merge(_tally_of(counts, ways).table())
    assert list(total.counts) == _total([count for counts, _ in parts for count in counts])
    distinct = {way for _, ways in parts for way in ways}
    assert list(total.ways) == [
        way
        for group in range(4)
        for way in sorted((w for w in distinct if w.group == group), key=lambda w: w.path)[:MOST]
    ]
    groups = sorted({str(way.group) for way in distinct})
    assert list(total.part.facts) == [_Fact(group, [group]) for group in groups]


def test_a_row_is_made_when_it_is_counted_in() -> None:
    counts = Rows(_Count)
    counts.of("a", 1).times += 2
    counts.of("a", 1).times += 3
    assert list(counts) == [_Count("a", 1, 5)]


def test_only_a_row_that_would_be_kept_is_taken() -> None:
    ways = FirstRows(_Way, 2, ("group",), ("path",))
    assert ways.takes((0,), (("z",),))
    for name in ("b", "c"):
        ways.add(_Way(0, (name,)))
    assert [ways.takes((0,), ((name,),)) for name in ("a", "d")] == [True, False]
    assert ways.takes((1,), (("z",),)), "other groups have room"


def test_sums_beyond_64_bits_do_not_wrap_around() -> None:
    most = (1 << 63) - 1
    total = _Tally()
    for _ in range(2):
        total.merge(_tally_of([_Count("a", 0, most)], []).table())
    assert [count.times for count in total.counts] == [2 * most]
    with pytest.raises(OverflowError):
        _tally_of([_Count("a", 0, most)] * 3, []).table()


def test_pandas_stays_out() -> None:
    script = """
import sys
from tests.analysis.tables.test_totals import _COUNTS, _Count, _Tally, _Way, _tally_of
total = _Tally()
total.merge(_tally_of([_Count("a", 1, 2)], [_Way(0, ("a", "b"))]).table())
print(len(list(total.counts)), len(list(total.ways)), "pandas" in sys.modules)
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout == "1 1 False\n"
