"""The table of join points, from the records of brokers."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.tables.placements import Placement
from analysis.tables.results import read_table, table_file
from record.log import Event
from tests.analysis.history import History, write_run
from tests.analysis.oracle_cases_of_detections import composed, pair


def detected(history: History, broker: str, *times: float, unit: str | None = None) -> History:
    """A broker makes detections at these times; `unit` is the part that is detected by itself."""
    ids = ["P:1", "P:2"]
    for at in times:
        history.add(broker, Event.DETECTED, at, kind="detection", client="S", id="c1", publications=ids, text=unit)
    return history


def placements(tmp_path: Path, history: History) -> list[Placement]:
    run = write_run(tmp_path / "run", [history])
    analyze(run, PlainEngine())
    return read_table(run / "results", Placement)


def test_a_row_for_each_join_point(tmp_path: Path) -> None:
    """A run phase from 100 to 160 s: 20 s at B2, then 40 at B3. The last second of B2 has a detection of each."""
    history = composed("base").join("B1", "B2", at=95).leave("B1", "B2", at=120.5).join("B1", "B3", at=120, former="B2")
    first, second = placements(tmp_path, detected(detected(history, "B2", 101, 120.2), "B3", 120.7, 130, 131.5, 140))
    assert (first.broker, first.path, first.former, first.unit) == ("B2", ["B1", "B2"], None, "B1.1.c1")
    assert (first.joined_s, first.left_s, first.reason, first.ending) == (
        -5.0, 20.5, "least total routing cost", "routed anew",
    )  # fmt: skip
    assert (first.cost, first.estimated_per_s, first.detections) == (2.0, 0.5, 2)
    assert first.detected_per_s == pytest.approx(2 / 20.5)
    assert (second.broker, second.former, second.left_s, second.detections) == ("B3", "B2", None, 4)
    assert second.detected_per_s == pytest.approx(0.1)


def test_detections_count_for_the_latest_time_as_join_point(tmp_path: Path) -> None:
    history = composed("base").join("B1", "B2", at=95).leave("B1", "B2", at=110).join("B1", "B2", at=130, epoch=2)
    rows = placements(tmp_path, detected(history, "B2", 101, 109, 130.5, 131, 132))
    assert [(row.epoch, row.detections) for row in rows] == [(1, 2), (2, 3)]


def test_detections_of_a_part_do_not_count_for_the_whole(tmp_path: Path) -> None:
    """B2 is the join point of both."""
    history = composed("base").join("B1", "B2", at=95).join("B2", "B3", "B2", at=96, id="c1 /1.0.1")
    history = detected(detected(history, "B2", 101), "B2", 102, 103, unit="B1.1.c1/1.0.1")
    rows = placements(tmp_path, history)
    assert [(row.name, row.detections) for row in rows] == [("S c1", 1), ("S c1, part 1.0.1", 2)]


def test_a_place_before_the_run_phase_alone_has_no_rate(tmp_path: Path) -> None:
    (row,) = placements(tmp_path, composed("base").join("B1", at=95).leave("B1", at=99))
    assert (row.detections, row.detected_per_s) == (0, None)


def test_a_run_without_units_has_no_such_table(tmp_path: Path) -> None:
    """The table of an earlier analysis is removed."""
    assert placements(tmp_path / "a", composed("base").join("B1", at=95))
    run = write_run(tmp_path / "b", [pair("base").detect("P:1", "P:2", at=112.1)])
    table = run / "results" / table_file(Placement)
    table.parent.mkdir()
    table.write_bytes(b"old")
    analyze(run, PlainEngine())
    assert not table.exists()
