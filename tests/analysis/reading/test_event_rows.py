"""The table `events` holds what the log holds: compared with the lines of the log, decoded one by one by `json`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as pq
import pytest

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.pipeline import judgement as pipeline
from analysis.tables.event_choice import EventTable
from analysis.tables.events import event_columns
from record.log import Event, TraceRecord
from tests.analysis.history import SECOND, History, joined, write_run

ENCODED = {column.name for column in event_columns() if column.encoded}


def history(variant: str) -> History:
    made = joined(variant)
    for number in range(20):
        made.publish(f"P:{number}", 101 + number, price=90).notify(f"P:{number}", at=101.5 + number)
    return made.fault(130).heal(131)


def analysed(directory: Path, events: EventTable = EventTable.ALL) -> Path:
    analyze(directory, PlainEngine(), events=events)
    return directory / "results" / "events"


def rows(events: Path) -> list[dict[str, Any]]:
    """The rows as the log has them: without fields that are null and without the added columns, decoded."""
    found = pq.read_table(events).to_pylist()
    return [
        {name: json.loads(value) if name in ENCODED else value for name, value in row.items() if value is not None}
        for row in sorted(found, key=lambda row: (row["node"], row["log_place"]))
    ]


def logged(directory: Path, *variants: str) -> Iterator[dict[str, Any]]:
    for file in sorted((directory / "logs").iterdir()):
        for line in file.read_bytes().split(b"\n"):
            try:
                record = msgspec.to_builtins(msgspec.json.decode(line, type=TraceRecord))
            except msgspec.DecodeError:
                continue
            if record["variant"] in variants:
                yield json.loads(line)


def same(events: Path, expected: list[dict[str, Any]]) -> None:
    found = rows(events)
    assert [row.pop("run_time") for row in found] == [record["time"] for record in expected]
    places = [(row["node"], row.pop("log_place")) for row in found]
    assert len(set(places)) == len(places)
    assert found == expected


def test_rows_are_the_records_of_damaged_logs_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A torn line with the next incarnation after it, lines that are no records, a kind of event that this version does
    not have, a variant that is not in the manifest; and shares so small that many of them hold one variant."""
    directory = write_run(tmp_path / "run", [history("a"), history("b, c=1/2")])
    started = msgspec.json.encode(TraceRecord(time=200 * SECOND, node="driver", variant="a", event=Event.STARTED))
    foreign = msgspec.json.encode(TraceRecord(time=201 * SECOND, node="driver", variant="else", event=Event.LAG))
    unknown = started.replace(b'"started"', b'"teleported"')
    with (directory / "logs" / "driver.jsonl").open("ab") as file:
        file.write(b"\n".join((started[:30], started, foreign, unknown, b"what?", b"", started, started[:40])))
    monkeypatch.setattr(pipeline, "SMALLEST_SHARE", 3_000)
    monkeypatch.setattr(pipeline, "LARGEST_SHARE", 3_000)
    expected = list(logged(directory, "a", "b, c=1/2"))
    assert sum(record["event"] == "started" for record in expected) == 2
    assert len(expected) > 80
    same(analysed(directory), expected)


def test_both_times_of_a_run_with_time_dilation(tmp_path: Path) -> None:
    directory = write_run(tmp_path / "run", [history("a")])
    manifest = json.loads((directory / "manifest.json").read_bytes())
    manifest["variants"][0]["time_dilation"] = 4.0
    (directory / "manifest.json").write_text(json.dumps(manifest))
    found = pq.read_table(analysed(directory)).to_pylist()
    assert found
    assert all(row["time"] == row["run_time"] // 4 for row in found)
    published = [row for row in found if row["event"] == "publish"]
    assert all(row["intended"] == row["time"] for row in published)


def test_none_removes_the_table_of_an_earlier_analysis(tmp_path: Path) -> None:
    directory = write_run(tmp_path / "run", [history("a")])
    assert analysed(directory).is_dir()
    assert not analysed(directory, EventTable.NONE).exists()
