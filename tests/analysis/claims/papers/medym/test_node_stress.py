"""Node stress and servers traversed, on runs computed by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.claims import ClaimsError
from analysis.claims.figures import FigureRecipe, draw
from analysis.claims.papers.medym.node_stress import HEADERS
from analysis.claims.papers.medym.variants import SCHEMES
from tests.analysis.claims.papers.medym.small_runs import CONTENT, Copy, Published, measured, run_of

LIST = 3
"""Bytes of a destination list of one server."""
BITS = 8 * (CONTENT + LIST + HEADERS)
"""Bits of one copy."""
TWO_EVENTS = (
    Published("P:1", "A", (Copy("A", "B", LIST),), ("B",)),
    Published("P:2", "A", (Copy("A", "B", LIST),), ("A", "B")),
)
"""A publishes two events and sends both to B; one is wanted at A, too; nothing comes to C."""
NOTHING = (Published("P:1", "A"),)


def test_copies_count_at_both_ends_and_those_from_clients_do_not(tmp_path: Path) -> None:
    run = run_of(tmp_path, {f"{ratio}+{scheme}": TWO_EVENTS for ratio in (1, 10) for scheme in SCHEMES})
    values = measured(run, "node stress").values
    assert values == pytest.approx((2 * BITS / 3, 2 * BITS / 3, 500, 500) * len(SCHEMES))
    # A and B have BITS each and C has none, so that the largest is 1.5 times the mean.
    assert measured(run, "node stress balance").values == pytest.approx((1.5,) * 2 * len(SCHEMES))


@pytest.mark.parametrize(
    ("quantity", "value"),
    [
        ("node stress", 2 * BITS / 3),
        ("largest node stress", BITS),
        ("node stress balance", 1.5),
        ("servers traversed", 500),
        ("links travelled", 1),
        ("destination list", 1),
    ],
)
def test_figures_draw_the_same_numbers(tmp_path: Path, quantity: str, value: float) -> None:
    run = run_of(tmp_path, {"1+MST": TWO_EVENTS, "1+CBF": ()})
    drawn = draw(run, FigureRecipe(figure="x", quantity=quantity, axis=0))
    found = {curve.name: curve.y[0] for curve in drawn.curves}
    assert found["MST"] == pytest.approx(value)
    assert not found["CBF"]


def test_values_come_scheme_by_scheme(tmp_path: Path) -> None:
    events = {f"1+{scheme}": NOTHING if scheme == "Channelization" else TWO_EVENTS for scheme in SCHEMES}
    values = measured(run_of(tmp_path, events), "node stress").values
    assert values[2:4] == (0.0, 0.0)
    assert values[:2] == values[4:6] == pytest.approx((2 * BITS / 3, 500))


def test_without_an_event_nothing_is_measured(tmp_path: Path) -> None:
    run = run_of(tmp_path, {f"1+{scheme}": () for scheme in SCHEMES})
    assert measured(run, "node stress").values == (None,) * 2 * len(SCHEMES)
    assert measured(run, "node stress balance").values == (None,) * len(SCHEMES)


def test_a_missing_variant_is_named(tmp_path: Path) -> None:
    run = run_of(tmp_path, {f"1+{scheme}": TWO_EVENTS for scheme in SCHEMES[1:]})
    with pytest.raises(ClaimsError, match=r"no variant 1\+CBF"):
        measured(run, "node stress")
