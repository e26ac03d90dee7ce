"""Percentiles of delays are those of the notifications themselves."""

from __future__ import annotations

from pathlib import Path

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.query import open_tables
from analysis.report.percentiles import PERCENTS, read_percentiles
from tests.analysis.history import joined, write_run


def test_percentiles_are_delays_that_occurred(tmp_path: Path) -> None:
    """The 99.9th percentile of 1,000 notifications, after 1, 2, ... 1,000 ms, is the slowest but one."""
    history = joined("base")
    for number in range(1, 1001):
        at = 110 + number / 100
        history.publish(f"P:{number}", at).notify(f"P:{number}", at=at + number / 1000)
    history.notify("P:7", at=150)
    run = write_run(tmp_path / "run", [history, joined("quiet")])
    analyze(run, PlainEngine())
    with open_tables([run]) as tables:
        (found,) = read_percentiles(tables)
    assert (found.variant, found.notifications, found.most) == ("base", 1000, 1000)
    assert {percent: round(value, 6) for percent, value in found.within.items()} == {
        50: 500, 90: 900, 95: 950, 99: 990, 99.9: 999,
    }  # fmt: skip
    assert set(PERCENTS) - set(found.within) == {99.99}, "no notification is one in ten thousand here"


def test_a_run_without_notifications_has_none(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [joined("base").publish("P:1", 110)])
    analyze(run, PlainEngine())
    with open_tables([run]) as tables:
        assert read_percentiles(tables) == []
