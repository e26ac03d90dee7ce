from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from pyspark.sql import SparkSession

from analysis.logs import count_torn, log_loss, read_lines, records_of
from analysis.run_directory import open_run
from analysis.schema import spark_schema
from broker_service.trace import Event, TraceRecord
from tests.analysis.history import joined, write_run

RECORD = b'{"time":1,"node":"B1","variant":"base","event":"received"}\n'
START = b'{"time":2,"node":"B1","variant":"base","event":"started","count":2}\n'


def test_damaged_lines_are_counted_by_how_they_came_about(spark: SparkSession, tmp_path: Path) -> None:
    directory = write_run(tmp_path / "run", [joined("base")])
    whole = sum(len(log.read_bytes().splitlines()) for log in (directory / "logs").iterdir())
    no_time = b'{"node":"B1","variant":"base","event":"received"}\n'
    wrong_type = b'{"time":1,"node":"B1","variant":"base","event":"received","hops":"many"}\n'
    (directory / "logs" / "B1.jsonl").write_bytes(RECORD + RECORD[:20] + b"\n" + START + RECORD + RECORD[:31])
    (directory / "logs" / "B2.jsonl").write_bytes(b"what?\n" + RECORD + no_time + wrong_type)
    run = open_run(directory)
    lines = read_lines(spark, run)
    loss = log_loss(lines, run)
    assert (loss.records, loss.torn, loss.malformed) == (whole + 4, 2, 3)
    assert records_of(lines).count() == whole + 4


def test_a_record_survives_the_way_through_spark(spark: SparkSession, tmp_path: Path) -> None:
    history = joined("base").publish("P:ü", price=1e-7)
    lines = read_lines(spark, open_run(write_run(tmp_path / "run", [history])))
    rows = [row.asDict(recursive=True) for row in records_of(lines).collect()]
    found = [msgspec.convert({k: v for k, v in row.items() if v is not None}, TraceRecord) for row in rows]
    assert sorted(map(msgspec.json.encode, found)) == sorted(map(msgspec.json.encode, history.records))


@pytest.mark.parametrize(
    ("content", "torn"),
    [
        (b"", 0),
        (RECORD, 0),
        (RECORD[:-1], 0),
        (RECORD + RECORD[:-9], 1),
        (RECORD[:9] + b"\n" + START, 1),
        (RECORD[:9] + b"\n" + RECORD, 0),
        (RECORD + START, 0),
    ],
)
def test_a_torn_line_is_the_last_or_followed_by_a_start(tmp_path: Path, content: bytes, torn: int) -> None:
    (tmp_path / "B1.jsonl").write_bytes(content)
    assert count_torn(tmp_path / "B1.jsonl") == torn


def test_the_schema_has_every_field_of_the_record() -> None:
    names = [field.encode_name for field in msgspec.structs.fields(TraceRecord)]
    assert spark_schema(TraceRecord).fieldNames() == names
    assert not spark_schema(TraceRecord)["time"].nullable
    assert spark_schema(TraceRecord)["hops"].nullable
    assert Event("received") is Event.RECEIVED


def test_a_type_without_a_column_is_refused() -> None:
    class Odd(msgspec.Struct):
        both: int | str

    with pytest.raises(TypeError, match="one type"):
        spark_schema(Odd)
