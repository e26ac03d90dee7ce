"""The tables of overlays that change, and their places in the report, from a run that can be checked by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.report.data import read_report_data
from analysis.report.figures.motion import connectivity_figure, degree_figure
from analysis.report.page import render
from analysis.tables.motion import Connectivity, DegreeOverTime, LinkLifetime
from analysis.tables.results import read_table
from record.log import Event
from tests.analysis.history import DRAIN_END, RUN_START, SECOND, History, joined, write_run


def moved() -> History:
    """B1 - B2 - B3 loses its second link 10 s after the run began, gets B1 - B3 2.5 s later, and B2 - B3 again."""
    history = joined("base").publish().notify()
    for at, event, link in ((110, Event.VANISHED, "B2-B3"), (112.5, Event.APPEARED, "B1-B3")):
        history.add("emulator", event, at, peer=link, duration=0, intended=round(at * SECOND))
    return history.add("emulator", Event.APPEARED, 120, peer="B3-B2", duration=0, intended=119_500_000_000)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    made = write_run(tmp_path / "run", [moved()])
    analyze(made, PlainEngine())
    return made


def test_lifetimes(run: Path) -> None:
    rows = read_table(run / "results", LinkLifetime)
    assert [(row.a, row.b, row.number, row.appeared_s, row.vanished_s, row.late_ms) for row in rows] == [
        ("B1", "B2", 1, None, None, None),
        ("B2", "B3", 1, None, 10, None),
        ("B1", "B3", 1, 12.5, None, 0),
        ("B3", "B2", 2, 20, None, 500),
    ]
    assert (rows[1].vanished_ns, rows[2].appeared_ns) == (110 * SECOND, 112_500_000_000)


def test_changes_that_cannot_be_are_passed_over(run: Path, tmp_path: Path) -> None:
    """Links that appear although they are there, or vanish although they are not, as a damaged log has them."""
    damaged = moved()
    for at, event, link in (
        (105, Event.APPEARED, "B1-B2"),
        (111, Event.VANISHED, "B2-B3"),
        (112, Event.VANISHED, "B1-B3"),
        (113, Event.APPEARED, "B1-B1"),
    ):
        damaged.add("emulator", event, at, peer=link, duration=0)
    made = write_run(tmp_path / "damaged", [damaged])
    analyze(made, PlainEngine())
    for row in (LinkLifetime, Connectivity, DegreeOverTime):
        assert read_table(made / "results", row) == read_table(run / "results", row)


def test_connectivity(run: Path) -> None:
    rows = {row.second: row for row in read_table(run / "results", Connectivity)}
    assert max(rows) == DRAIN_END - RUN_START - 1
    assert {(row.connected, row.pairs) for second, row in rows.items() if second not in (10, 11, 12)} == {(1, 1)}
    assert [rows[second].connected for second in (10, 11, 12)] == pytest.approx([0, 0, 0.5])
    assert [rows[second].pairs for second in (10, 11, 12)] == pytest.approx([1 / 3, 1 / 3, 2 / 3])
    assert [rows[second].links for second in (9, 10, 11, 13, 21)] == [2, 1, 1, 2, 3]
    assert [(rows[second].appeared, rows[second].vanished) for second in (9, 10, 12, 20)] == [
        (0, 0), (0, 1), (1, 0), (1, 0),
    ]  # fmt: skip


def test_degrees(run: Path) -> None:
    rows = read_table(run / "results", DegreeOverTime)
    found = {second: {row.degree: row.brokers for row in rows if row.second == second} for second in (9, 11, 13, 21)}
    assert found == {9: {1: 2, 2: 1}, 11: {0: 1, 1: 2}, 13: {1: 2, 2: 1}, 21: {2: 3}}


def test_the_report_shows_them(run: Path) -> None:
    data = read_report_data(run)
    line = connectivity_figure(data.connectivity, data.variants).data[0]
    assert dict(zip(line.x, line.y, strict=True))[10] == pytest.approx(1 / 3)
    areas = {area.name: dict(zip(area.x, area.y, strict=True)) for area in degree_figure(data.degrees).data}
    assert {name: area[11] for name, area in areas.items()} == {"0 links": 1, "1 link": 2, "2 links": 0}
    assert "Connectivity over time" in render(data)


def test_a_run_without_changes_has_no_rows_and_no_section(tmp_path: Path) -> None:
    made = write_run(tmp_path / "still", [joined("base").publish().notify()])
    analyze(made, PlainEngine())
    for rows in (LinkLifetime, Connectivity, DegreeOverTime):
        assert read_table(made / "results", rows) == []
    assert "Connectivity over time" not in render(read_report_data(made))
