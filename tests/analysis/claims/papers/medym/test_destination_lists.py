"""Checks of MEDYM's invariants, and sizes of its destination lists."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.claims.papers.medym.destination_lists import straightness
from analysis.claims.papers.medym.variants import MULTICASTS
from tests.analysis.claims.papers.medym.small_runs import Copy, Published, measured, run_of

ONE, TWO = 3, 5
"""Bytes of a header with one and with two servers."""
GOOD = Published("P:1", "A", (Copy("A", "B", TWO), Copy("B", "C", ONE)), ("B", "C"))
BROKEN = {
    "came to a server twice": GOOD._replace(copies=(*GOOD.copies, Copy("A", "C", ONE))),
    "came to 1 servers without a matching": GOOD._replace(notified=("B",)),
    "did not come to 1 servers": GOOD._replace(copies=(Copy("A", "B", ONE),)),
    "has 1 destination lists with other": GOOD._replace(copies=(Copy("A", "B", ONE), Copy("B", "C", ONE))),
}


def test_a_tree_whose_lists_fit_is_no_violation(tmp_path: Path) -> None:
    at_home = Published("P:2", "A", (), ("A",))
    run = run_of(tmp_path, {"1+MST": (GOOD, at_home), "1+CBF": (BROKEN["came to a server twice"],)})
    found = measured(run, "dynamic multicast invariants")
    assert (found.values, found.checked, found.example) == ((0.0,), 2, "")


@pytest.mark.parametrize("words", BROKEN)
def test_every_violation_is_counted_and_named(words: str, tmp_path: Path) -> None:
    run = run_of(tmp_path, {"1+CloseMST": (GOOD, BROKEN[words]._replace(id="P:2"))})
    found = measured(run, "dynamic multicast invariants")
    assert (found.values, found.checked) == ((1.0,), 2)
    assert found.example.startswith(f"1+CloseMST: P:2 {words}")


def sized(size: int, copies: int) -> Published:
    """An event of some copies whose lists have a size. Copies repeat, because only numbers matter here."""
    return Published("P:1", "A", (Copy("A", "B", 1 + 2 * size),) * copies, ("B",))


def test_lists_that_grow_by_a_server_with_each_doubling_are_straight_over_the_logarithm(tmp_path: Path) -> None:
    growth = {1: 1, 10: 2, 50: 4, 100: 8}
    events = {
        f"{ratio}+{scheme}": (sized(position * factor, copies),)
        for position, (ratio, copies) in enumerate(growth.items(), start=1)
        for scheme, factor in (("MST", 2), ("CloseMST", 1), ("BalancedMST", 1))
    }
    values = measured(run_of(tmp_path, events), "destination list sizes").values
    over_matching = straightness(np.array([1.0, 2, 4, 8]), np.array([1.0, 2, 3, 4]))
    assert values == pytest.approx((*(1 - over_matching,) * 3, 1.0, 0.25))


def test_two_points_say_nothing_about_growth(tmp_path: Path) -> None:
    events = {f"{ratio}+{scheme}": (sized(1, 1),) for ratio in (1, 2) for scheme in MULTICASTS}
    run = run_of(tmp_path, events)
    assert measured(run, "destination list sizes").values == (None,) * 5


@given(st.lists(st.floats(-100, 100), min_size=3, max_size=8), st.floats(0.1, 5), st.floats(-5, 5))
def test_straightness_is_the_squared_correlation(y: list[float], slope: float, offset: float) -> None:
    x = np.arange(len(y), dtype=np.float64)
    assert straightness(x, slope * x + offset) == pytest.approx(1.0)
    values = np.array(y)
    if values.std() > 1e-3:
        assert straightness(x, values) == pytest.approx(np.corrcoef(x, values)[0, 1] ** 2, abs=1e-6)
