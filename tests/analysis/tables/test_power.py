"""The power of a verdict: shares, sums and one line in words."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.tables.power import Power, ordered, percent

COUNTS = st.dictionaries(
    st.sampled_from(["in flight to B6", "dropped at B2", "emptied by the restart of B1"]), st.integers(0, 50)
)
POWERS = st.builds(Power, owed=st.integers(200, 1000), excused=COUNTS, not_judged=COUNTS, implied=st.integers(0, 1000))


def power(owed: int = 2160, implied: int = 60, **counts: dict[str, int]) -> Power:
    return Power(owed=owed, implied=implied, **({"excused": {}, "not_judged": {}} | counts))


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (
            power(excused={"in flight to B6 when it was killed": 43}, not_judged={"outside of the sample": 40}),
            "judged 98% of 2,160 owed notifications; 40 not judged: outside of the sample; "
            "43 excused: in flight to B6 when it was killed; faults could cost at most 60",
        ),
        (power(implied=0), "judged 100% of 2,160 owed notifications"),
        (power(owed=1, implied=0), "judged 100% of 1 owed notification"),
        (power(owed=0, implied=0), "nothing was owed to any client, so nothing was judged"),
        (
            power(owed=10_000, not_judged={"a": 1}, implied=0),
            "judged 99.99% of 10,000 owed notifications; 1 not judged: a",
        ),
        (
            power(excused={"a": 1, "b": 5, "c": 3, "d": 2, "e": 0}),
            "judged 100% of 2,160 owed notifications; 11 excused: 5 b, 3 c, 2 d, 1 for other reasons; "
            "faults could cost at most 60",
        ),
    ],
)
def test_the_line_names_shares_kinds_and_what_was_implied(made: Power, words: str) -> None:
    assert made.in_words() == words


@pytest.mark.parametrize(
    ("part", "whole", "words"),
    [
        (1, 1, "100%"),
        (0, 7, "0%"),
        (29, 100, "29%"),
        (999, 1000, "99.90%"),
        (99_999, 100_000, "99.99%"),
        (989, 1000, "98%"),
    ],
)
def test_a_percentage_is_never_rounded_up(part: int, whole: int, words: str) -> None:
    assert percent(part, whole) == words


@pytest.mark.parametrize(
    ("owed", "unjudged", "enough"), [(0, 0, False), (2, 1, True), (100, 51, False), (100, 50, True)]
)
def test_half_of_what_was_owed_is_enough(owed: int, unjudged: int, enough: bool) -> None:
    assert power(owed=owed, not_judged={"why": unjudged}).enough is enough


@given(st.lists(POWERS, max_size=4))
def test_the_power_of_several_is_the_sum(powers: list[Power]) -> None:
    total = Power.total(powers)
    assert (total.owed, total.implied) == (sum(p.owed for p in powers), sum(p.implied for p in powers))
    assert total.judged == sum(p.judged for p in powers)
    assert sum(total.excused.values()) == sum(sum(p.excused.values()) for p in powers)
    assert msgspec.json.decode(msgspec.json.encode(total), type=Power) == total


@given(COUNTS)
def test_counts_are_in_order_of_size(counts: dict[str, int]) -> None:
    found = list(ordered(counts).values())
    assert found == sorted(found, reverse=True)
    assert 0 not in found
