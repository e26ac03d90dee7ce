"""The log writer: whole lines whatever happens, and no record lost in silence."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import msgspec
import pytest

from broker_service.tracing.trace import BUFFERED_RECORDS, FileTrace
from record.log import Event, TraceRecord


def record(number: int) -> TraceRecord:
    return TraceRecord(time=number, node="B1", variant="base", event=Event.SENT, id=f"P1:{number}")


def times(path: Path) -> list[int]:
    return [msgspec.json.decode(line, type=TraceRecord).time for line in path.read_bytes().splitlines()]


def test_records_reach_the_file_when_flushed(tmp_path: Path) -> None:
    trace = FileTrace(tmp_path / "log", "B1", "base")
    trace.write(record(1))
    assert times(tmp_path / "log") == []
    trace.flush()
    assert times(tmp_path / "log") == [1]
    trace.close()


def test_many_records_do_not_wait_for_a_flush(tmp_path: Path) -> None:
    trace = FileTrace(tmp_path / "log", "B1", "base")
    for number in range(BUFFERED_RECORDS + 1):
        trace.write(record(number))
    assert times(tmp_path / "log") == list(range(BUFFERED_RECORDS))
    trace.close()
    assert times(tmp_path / "log") == list(range(BUFFERED_RECORDS + 1))


def test_a_second_writer_appends(tmp_path: Path) -> None:
    for number in (1, 2):
        trace = FileTrace(tmp_path / "log", "B1", "base")
        trace.write(record(number))
        trace.close()
    assert times(tmp_path / "log") == [1, 2]


def test_a_line_torn_by_a_kill_is_ended_before_the_next(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b'{"time":1,"node":"B1","variant":"base","event":"sent"}\n{"time":2,"no')
    trace = FileTrace(path, "B1", "base")
    trace.write(record(3))
    trace.close()
    whole, torn, after = path.read_bytes().splitlines()
    assert torn == b'{"time":2,"no'
    assert [msgspec.json.decode(line)["time"] for line in (whole, after)] == [1, 3]


def test_a_full_disk_costs_records_and_nothing_else() -> None:
    trace = FileTrace(Path("/dev/full"), "B1", "base")
    for number in range(BUFFERED_RECORDS + 3):
        trace.write(record(number))
    assert trace.lost == BUFFERED_RECORDS
    trace.close()
    assert trace.lost == BUFFERED_RECORDS + 3


def test_what_a_filling_disk_took_of_a_line_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log"
    trace = FileTrace(path, "B1", "base")
    for number in range(4):
        trace.write(record(number))
    room = 100  # one line and a part of the second
    write = os.write

    def filling(file: int, data: bytes) -> int:
        nonlocal room
        if not room:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = write(file, data[:room])
        room -= written
        return written

    monkeypatch.setattr(os, "write", filling)
    trace.flush()
    monkeypatch.undo()
    assert times(path) == [0]
    assert path.read_bytes().endswith(b"\n")
    assert trace.lost == 3
    trace.write(record(9))
    trace.close()
    assert times(path) == [0, 9]


def test_a_record_that_cannot_be_encoded_is_counted(tmp_path: Path) -> None:
    trace = FileTrace(tmp_path / "log", "B1", "base")
    trace.write(TraceRecord(time=1, node="B1", variant="base", event=Event.SENT, id="\ud800"))
    trace.close()
    assert trace.lost == 1
