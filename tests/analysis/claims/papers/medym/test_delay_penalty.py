"""Relative delay penalties, by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.claims import ClaimsError
from analysis.claims.figures import FigureRecipe, draw
from analysis.claims.measured_run import MeasuredRun
from tests.analysis.claims.papers.medym.small_runs import measured, notification, variant


def run(*named: tuple[str, list[tuple[str, float]]]) -> MeasuredRun:
    """Variants in which servers are reached from A after these delays in milliseconds. A to B is 12, A to C 32 ms."""
    return MeasuredRun(
        Path("run"),
        tuple(
            variant(name, [notification("P:1", to, "A", delay_ms=delay, path=["A", to]) for to, delay in paths])
            for name, paths in named
        ),
    )


def test_the_share_below_the_direct_latency_counts_measured_locations_only() -> None:
    found = run(
        ("MST", [("B", 24.0), ("B", 12.0 - 1e-6), ("B", 11.0), ("C", 31.0), ("C", 64.0), ("C", 1.0)]),
        ("CloseMST", [("B", 11.0)]),
        ("GNP-MST", [("B", 1.0)]),
    )
    assert measured(found, "share below direct latency").values == (0.75,)


def test_the_distribution_of_penalties_is_cumulative() -> None:
    found = run(("MST", [("B", 6.0), ("B", 24.0), ("C", 32.0)]))
    (curve,) = draw(found, FigureRecipe(figure="x", quantity="delay penalties")).curves
    assert dict(zip(curve.x, curve.y, strict=True)).items() >= {0.5: 1 / 3, 0.75: 1 / 3, 1.0: 2 / 3, 2.0: 1.0}.items()


def test_notifications_at_the_publishers_server_have_no_path() -> None:
    home = notification("P:1", "A", "A", delay_ms=1.0, path=["A"])
    found = MeasuredRun(Path("run"), (variant("MST", [home]),))
    assert measured(found, "share below direct latency").values == (None,)


def test_coordinates_against_round_trips_and_latencies_of_high_penalties() -> None:
    found = run(
        ("MST", [("B", 12.0), ("C", 32.0)]),
        ("CloseMST", [("B", 24.0), ("C", 64.0)]),
        ("GNP-MST", [("B", 60.0), ("C", 32.0)]),
        ("GNP-CloseMST", [("B", 48.0), ("C", 64.0)]),
    )
    # 90th percentiles of (1, 1) and (5, 1), then of (2, 2) and (4, 2). The penalty of 4 is at 12 ms, and the
    # median latency is 22 ms.
    assert measured(found, "locations").values == pytest.approx((4.6 - 1, 3.8 / 2 - 1, 1 - 12 / 22))


def test_without_a_high_penalty_its_latency_is_unknown() -> None:
    found = run(*((name, [("B", 12.0)]) for name in ("MST", "CloseMST", "GNP-MST", "GNP-CloseMST")))
    assert measured(found, "locations").values == (0.0, 0.0, None)


def test_locations_need_both_kinds() -> None:
    with pytest.raises(ClaimsError, match=r"in a variant GNP-MST"):
        measured(run(("MST", [("B", 12.0)]), ("CloseMST", [("B", 12.0)])), "locations")
