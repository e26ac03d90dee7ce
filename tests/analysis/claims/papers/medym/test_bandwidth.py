"""Crossings of bandwidths, exponents over the number of servers, and the growth of paths."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.claims.papers.medym.bandwidth import crossing, exponent
from analysis.claims.papers.medym.variants import SCHEMES
from tests.analysis.claims.papers.medym.small_runs import Copy, Published, measured, run_of

RATIOS = (0.5, 0.7, 0.9)


def test_a_crossing_is_interpolated() -> None:
    assert crossing(RATIOS, (1.0, 2.0, 4.0), (2.0, 3.0, 3.0)) == pytest.approx(0.8)


def test_the_last_of_several_crossings_counts() -> None:
    assert crossing(RATIOS, (3.0, 1.0, 3.0), (2.0, 2.0, 2.0)) == pytest.approx(0.8)


def test_no_crossing_and_none_to_be_seen() -> None:
    assert crossing(RATIOS, (1.0, 1.0, 1.0), (2.0, 2.0, 1.0)) is None
    assert crossing(RATIOS, (3.0, 3.0, 3.0), (2.0, 2.0, 2.0)) == 0.5


def test_crossings_are_of_mean_node_stress(tmp_path: Path) -> None:
    """MST sends one copy of its event at each ratio; CBF and channelization send two, and one at the largest."""

    def copies(scheme: str, ratio: int) -> tuple[Copy, ...]:
        if scheme in ("MST", "CloseMST"):
            return (Copy("A", "B", 2),)
        return (Copy("A", "B"), Copy("A", "B")) if ratio < 90 else (Copy("A", "B"),)

    events = {
        f"{ratio}+{scheme}": (Published("P:1", "A", copies(scheme, ratio)),)
        for ratio in (50, 70, 90)
        for scheme in SCHEMES
    }
    # Of 242 bytes against 480 and then 240: the difference changes from -238 to 2 between 0.7 and 0.9.
    run = run_of(tmp_path, events)
    assert measured(run, "bandwidth crossings").values == pytest.approx((0.7 + 0.2 * 238 / 240,) * 3)


@given(st.floats(-3, 3), st.floats(0.1, 1000))
def test_the_exponent_of_a_power_law(power: float, factor: float) -> None:
    sizes = (100, 200, 500, 2000)
    assert exponent(sizes, [factor * size**power for size in sizes]) == pytest.approx(power, abs=1e-9)


def test_no_exponent_without_two_sizes_and_all_values() -> None:
    assert exponent((100,), (1.0,)) is None
    assert exponent((100, 200), (1.0, None)) is None


def test_growth_of_paths_is_in_links(tmp_path: Path) -> None:
    far = {"200+CBF": 4}
    names = [f"{size}+{scheme}" for size in (100, 200) for scheme in SCHEMES]
    run = run_of(tmp_path, {name: (Published("P:1", "A", (), ("A", "B"), far.get(name, 1)),) for name in names})
    assert measured(run, "path growth").values == (1.0, 1.0, 1.0, 3.0)
