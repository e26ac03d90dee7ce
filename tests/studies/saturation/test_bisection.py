"""Bisection finds the end of what holds in few steps, tries two loads beyond, and names odd curves."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenario.sections.search import Loads
from studies.saturation.bisection import Bisection, LoadOutcome

HOLDS, FAILS, NOT_JUDGED = LoadOutcome
RATES = Loads(5.0, 500.0, "/s", whole=False)


def searched(outcome_of: Callable[[float], LoadOutcome], loads: Loads = RATES, within: float = 0.05) -> Bisection:
    search = Bisection(loads, within)
    while due := search.next_loads():
        for load in due:
            assert load not in search.outcomes, "no load is tried twice"
            search.note(load, outcome_of(load))
    return search


def up_to(most: float) -> Callable[[float], LoadOutcome]:
    return lambda load: HOLDS if load <= most else FAILS


@given(st.floats(5.0, 499.0))
def test_the_gap_is_as_narrow_as_asked_for_after_few_runs(most: float) -> None:
    search = searched(up_to(most))
    assert search.highest is not None
    assert search.least_failing is not None
    assert search.highest <= most < search.least_failing <= search.highest * 1.051
    assert len(search.outcomes) <= 2 + 7 + 2
    assert search.holding_beyond == []


def test_two_loads_beyond_the_highest_are_tried() -> None:
    search = searched(up_to(100.0))
    assert search.highest is not None
    for factor in (1.25, 1.6):
        assert search.outcomes[RATES.rounded(search.highest * factor)] is FAILS


def test_a_load_that_holds_beyond_one_that_does_not_is_named() -> None:
    search = searched(lambda load: FAILS if 40 < load < 60 or load > 400 else HOLDS)
    assert search.highest is not None
    assert search.least_failing is not None
    assert all(load > search.least_failing for load in search.holding_beyond)
    assert search.holding_beyond


def test_all_loads_hold() -> None:
    search = searched(up_to(1000.0))
    assert (search.highest, search.least_failing) == (500.0, None)
    assert len(search.outcomes) == 2


def test_no_load_holds() -> None:
    """Two loads beyond the least are tried all the same."""
    search = searched(up_to(1.0))
    assert (search.highest, search.least_failing) == (None, 5.0)
    assert list(search.outcomes) == [5.0, 6.25, 8.0, 500.0]


def test_a_load_that_the_host_limits_ends_the_way_up_and_is_told_apart() -> None:
    search = searched(lambda load: HOLDS if load <= 60 else NOT_JUDGED if load <= 200 else FAILS)
    assert search.highest is not None
    assert search.least_failing is not None
    assert search.highest <= 60 < search.least_failing < 64
    assert search.outcomes[search.least_failing] is NOT_JUDGED


@pytest.mark.parametrize("most", [1, 2, 7, 9])
def test_whole_numbers_are_tried_whole(most: int) -> None:
    search = searched(up_to(most), Loads(1.0, 10.0, "", whole=True))
    assert (search.highest, search.least_failing) == (most, most + 1)
    assert all(load == int(load) for load in search.outcomes)
