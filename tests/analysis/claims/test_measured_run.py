"""A run as input of measures."""

from __future__ import annotations

from pathlib import Path

import msgspec

from analysis.claims.measured_run import MeasuredRun, MessageRecord
from record.log import Event


def test_measures_of_a_run_share_what_takes_long_to_read() -> None:
    read: list[MeasuredRun] = []

    def count(run: MeasuredRun) -> int:
        read.append(run)
        return len(read)

    first, second = MeasuredRun(Path("a"), ()), MeasuredRun(Path("b"), ())
    assert [first.once(count), first.once(count), second.once(count), first.once(count)] == [1, 1, 2, 1]
    assert [run.directory for run in read] == [first.directory, second.directory]


def line(event: str, id: str, **fields: object) -> bytes:
    return msgspec.json.encode({"time": 4, "node": "A", "variant": "v", "event": event, "id": id, **fields}) + b"\n"


def test_records_are_read_around_lines_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    damaged = line("sent", "P:2", kind="publish")[:-9] + b"\n"
    lines = [line("sent", "P:1", peer="B", bytes=7), damaged, line("received", "P:3"), line("sent", "P:4")[:-2]]
    (tmp_path / "logs" / "A.jsonl").write_bytes(b"".join(lines))
    run = MeasuredRun(tmp_path, (), {"v": 2.0})
    assert [(record.id, record.time) for record in run.records("A")] == [("P:1", 2), ("P:3", 2)]
    assert list(run.message_records("A", b'"event":"sent"')) == [MessageRecord("v", Event.SENT, "P:1", "B", 7)]
    assert [record.id for record in run.message_records("A", b"P:3")] == ["P:3"]
