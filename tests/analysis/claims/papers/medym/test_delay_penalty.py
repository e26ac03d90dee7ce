"""Relative delay penalties, by hand."""

from __future__ import annotations

from pathlib import Path

from analysis.claims.measured_run import MeasuredRun
from tests.analysis.claims.papers.medym.small_runs import measured, notification, variant


def run(*named: tuple[str, list[tuple[str, float]]]) -> MeasuredRun:
    """Variants in which servers are reached from A after these delays in milliseconds. A to B is 12, A to C 32 ms."""
    return MeasuredRun(
        Path("run"),
        tuple(
            variant(name, (), [notification("P:1", to, "A", delay_ms=delay, path=["A", to]) for to, delay in paths])
            for name, paths in named
        ),
    )


def test_the_share_below_the_direct_latency_counts_measured_locations_only() -> None:
    found = run(
        ("MST", [("B", 24.0), ("B", 12.0 - 1e-6), ("B", 11.0), ("C", 31.0), ("C", 64.0), ("C", 1.0)]),
        ("CloseMST", [("B", 11.0)]),
        ("coordinates+MST", [("B", 1.0)]),
    )
    assert measured(found, "share below direct latency").values == (0.75,)


def test_notifications_at_the_publishers_server_have_no_path() -> None:
    home = notification("P:1", "A", "A", delay_ms=1.0, path=["A"])
    found = MeasuredRun(Path("run"), (variant("MST", (), [home]),))
    assert measured(found, "share below direct latency").values == (None,)
