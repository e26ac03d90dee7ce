"""The tables `load` and `labels` and their places in the report, from a run whose numbers can be checked by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.report.data import read_report_data
from analysis.report.figures.broker_load import BROKERS_SHOWN, busiest_brokers, busiest_share, load_figure
from analysis.report.page import render
from analysis.run_files.run_directory import open_run
from analysis.tables.broker_work import BrokerLoad
from analysis.tables.results import read_table
from analysis.tables.traffic import LabelledMessages
from record.log import Event
from tests.analysis.history import RUN_START, SECOND, History, joined, write_run


def loaded() -> History:
    """B1 works for 0.25 s in the first second of the run, then for 0.5 s."""
    history = joined("base").publish().notify()
    for time, work in ((0, 1.0), (1, 1.25), (2, 1.75)):
        history.add("B1", Event.LOAD, RUN_START + time, count=1, duration=round(work * SECOND), bytes=5_000_000)
    return history


def labelled() -> History:
    """B1 sends B2 two messages labelled `nack`, one labelled `change` and one without a label."""
    history = joined("base").publish().notify()
    for number, label in enumerate(("nack", "nack", "change", None)):
        message = {"kind": "control", "id": f"B1:{number}", "bytes": 10, "label": label}
        history.add("B1", Event.SENT, 120 + number, peer="B2", duration=0, **message)
        history.add("B2", Event.RECEIVED, 120.1 + number, peer="B1", hops=1, **message)
    return history


def test_load_over_time(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [loaded()])
    analyze(run, PlainEngine())
    rows = read_table(open_run(run).results, BrokerLoad)
    assert [(row.variant, row.broker, row.second, row.memory_bytes) for row in rows] == [
        ("base", "B1", 0, 5_000_000),
        ("base", "B1", 1, 5_000_000),
    ]
    assert [row.processor for row in rows] == pytest.approx([0.25, 0.5])
    text = render(read_report_data(run))
    assert "Load per broker over time" in text
    assert "by their labels" not in text


def test_messages_by_label(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [labelled()])
    analyze(run, PlainEngine())
    rows = read_table(open_run(run).results, LabelledMessages)
    assert {(row.variant, row.kind) for row in rows} == {("base", "control")}
    counts = {(row.broker, row.label): (row.sent, row.sent_bytes, row.received, row.received_bytes) for row in rows}
    assert counts == {
        ("B1", "change"): (1, 10, 0, 0),
        ("B1", "nack"): (2, 20, 0, 0),
        ("B2", "change"): (0, 0, 1, 10),
        ("B2", "nack"): (0, 0, 2, 20),
    }
    text = render(read_report_data(run))
    assert "<tr><td>base</td><td>control</td><td>nack</td><td>2</td><td>20</td></tr>" in text
    assert "Load per broker over time" not in text


def load(broker: str, second: int, processor: float) -> BrokerLoad:
    return BrokerLoad(variant="base", broker=broker, second=second, processor=processor, memory_bytes=None)


def test_a_map_has_the_busiest_broker_on_top_and_gaps_where_a_broker_did_not_run() -> None:
    rows = [
        load("B1", -1, 0.9),
        load("B1", 0, 0.1),
        load("B1", 2, 0.1),
        *(load("B2", second, 0.2) for second in range(3)),
    ]
    assert busiest_share(rows) == 0.2
    (drawn,) = load_figure(rows, 0.4, busiest_brokers(rows)).data
    assert list(drawn.y) == ["B2", "B1"]
    assert [list(line) for line in drawn.z] == [[20, 20, 20], [10, None, 10]]
    assert drawn.zmax == 40


def test_a_map_shows_a_bounded_number_of_brokers() -> None:
    rows = [load(f"B{number}", 0, number / 100) for number in range(90)]
    (drawn,) = load_figure(rows, 1, busiest_brokers(rows)).data
    assert len(drawn.y) == BROKERS_SHOWN
    assert drawn.y[0] == "B89"


def test_maps_of_all_variants_have_one_order() -> None:
    """The busiest in any variant is on top, and a broker that one variant does not have is a row of holes."""
    first = [load("B1", 0, 0.3), load("B2", 0, 0.1)]
    other = [replace(row, variant="other") for row in (load("B2", 0, 0.2), load("B3", 0, 0.4), load("B1", 0, 0.1))]
    order = busiest_brokers([*first, *other])
    assert order == ["B3", "B1", "B2"]
    (drawn,) = load_figure(first, 1, order).data
    assert [list(line) for line in drawn.z] == [[None], [30], [10]]


def test_idle_brokers_have_a_scale_too() -> None:
    assert busiest_share([]) == busiest_share([load("B1", 0, 0.0)]) == 0.01
