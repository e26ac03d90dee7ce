from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.run_files.folders import LocalFolder, LogFile
from analysis.run_files.logs import StoredLogs, bring_to_scenario_time, divide, scenario_time
from analysis.tables.deliveries import Notification
from analysis.tables.schema import arrow_schema
from record.log import Event, TraceRecord

RECORD = b'{"time":1,"node":"B1","variant":"base","event":"received"}\n'
START = b'{"time":2,"node":"B1","variant":"base","event":"started","count":2}\n'
WRONG_TYPE = b'{"time":1,"node":"B1","variant":"base","event":"received","hops":"many"}\n'
NO_TIME = b'{"node":"B1","variant":"base","event":"received"}\n'
TOO_LARGE = b'{"time":1,"node":"B1","variant":"base","event":"received","hops":9223372036854775808}\n'


def counted(file: Path, share_bytes: int) -> tuple[int, int, int]:
    """Records, torn lines, malformed ones."""
    logs = StoredLogs(LocalFolder(file.parent))
    shares = divide(logs.files(), share_bytes)
    blocks = [block for share in shares for piece in share for block in logs.blocks(piece)]
    return (
        sum(len(block.records) for block in blocks),
        sum(block.torn for block in blocks),
        sum(block.malformed for block in blocks),
    )


@pytest.mark.parametrize("share_bytes", [1, 7, 60, 1000])
@pytest.mark.parametrize(
    ("content", "records", "torn", "malformed"),
    [
        (b"", 0, 0, 0),
        (RECORD, 1, 0, 0),
        (RECORD[:-1], 1, 0, 0),
        (RECORD + RECORD[:-9], 1, 1, 0),
        (RECORD[:9] + b"\n" + START, 1, 1, 0),
        (RECORD[:9] + b"\n" + RECORD, 1, 0, 1),
        (RECORD + START, 2, 0, 0),
        (RECORD + RECORD[:20] + b"\n" + START + RECORD + RECORD[:31], 3, 2, 0),
        (b"what?\n" + RECORD + NO_TIME + WRONG_TYPE, 1, 0, 3),
        (RECORD + TOO_LARGE, 1, 0, 1),
    ],
)
def test_damaged_lines_are_counted_by_how_they_came_about(
    tmp_path: Path, content: bytes, records: int, torn: int, malformed: int, share_bytes: int
) -> None:
    (tmp_path / "B1.jsonl").write_bytes(content)
    assert counted(tmp_path / "B1.jsonl", share_bytes) == (records, torn, malformed)


@given(lengths=st.lists(st.integers(0, 40), max_size=30), share_bytes=st.integers(1, 300))
def test_every_line_is_read_once_however_a_file_is_divided(
    tmp_path_factory: pytest.TempPathFactory, lengths: list[int], share_bytes: int
) -> None:
    records = [
        TraceRecord(time=number, node="n" * length, variant="base", event="received")  # type: ignore[arg-type]
        for number, length in enumerate(lengths)
    ]
    folder = LocalFolder(tmp_path_factory.mktemp("logs"))
    (folder.path / "B1.jsonl").write_bytes(msgspec.json.Encoder().encode_lines(records))
    logs = StoredLogs(folder)
    shares = divide(logs.files(), share_bytes)
    assert all(piece.end - piece.start <= share_bytes for share in shares for piece in share)
    read = [
        record.time for share in shares for piece in share for block in logs.blocks(piece) for record in block.records
    ]
    assert read == list(range(len(lengths)))


def test_all_times_of_a_record_become_the_scenarios_and_only_those(tmp_path: Path) -> None:
    lines = b"".join(
        msgspec.json.encode(
            TraceRecord(
                time=1_000, node="B1", variant=variant, event=Event.SENT, duration=500, intended=900, queue=10,
                count=20, bytes=30, hops=40,
            )
        ) + b"\n"
        for variant in ("slow", "plain")
    )  # fmt: skip
    (tmp_path / "B1.jsonl").write_bytes(lines)
    logs = StoredLogs(LocalFolder(tmp_path))
    (share,) = divide(logs.files(), 1000)
    slow, plain = (record for piece in share for block in logs.blocks(piece) for record in block.records)
    bring_to_scenario_time((slow, plain), {"slow": 4.0})
    assert (slow.time, slow.duration, slow.intended) == (250, 125, 225)
    assert (slow.queue, slow.count, slow.bytes, slow.hops) == (10, 20, 30, 40)
    assert (plain.time, plain.duration, plain.intended) == (1_000, 500, 900)
    bare = TraceRecord(time=8, node="B1", variant="slow", event=Event.LAG)
    bring_to_scenario_time([bare], {"slow": 4.0})
    assert (bare.time, bare.duration, bare.intended) == (2, None, None)


@given(st.integers(0, 1 << 60), st.integers(0, 1 << 60), st.floats(1, 1000))
def test_the_order_of_times_is_kept(first: int, second: int, dilation: float) -> None:
    early, late = sorted((first, second))
    assert scenario_time(early, dilation) <= scenario_time(late, dilation)
    assert scenario_time(late, 1.0) == late


def test_small_files_share_a_task() -> None:
    files = [LogFile(f"{number}.jsonl", len(RECORD)) for number in range(5)]
    assert [len(share) for share in divide(files, 2 * len(RECORD))] == [2, 2, 1]


def test_a_table_has_every_field_of_its_struct() -> None:
    names = [field.encode_name for field in msgspec.structs.fields(Notification)]
    schema = arrow_schema(Notification)
    assert schema.names == names
    assert not schema.field("variant").nullable
    assert schema.field("hops").nullable


def test_a_type_without_a_column_is_refused() -> None:
    class Odd(msgspec.Struct):
        both: int | str

    with pytest.raises(TypeError, match="one type"):
        arrow_schema(Odd)
