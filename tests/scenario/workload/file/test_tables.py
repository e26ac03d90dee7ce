"""Tables of operations in three formats, and the sentences for those that cannot be played."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scenario.workload.file.contents import contents_of
from scenario.workload.generate import generate, problems
from scenario.workload.operations import PlannedOperation
from tests.scenario.workload.file import parking
from tests.scenario.workload.file.conftest import ROWS, scenario_of, write_lines

_FLAT = [
    {"ts": 0, "who": "S", "verb": "watch", "key": "s1", "body": "[class,eq,'X'],[price,>,1]"},
    {"ts": 1, "who": "7", "verb": "publish", "symbol": "ACME", "price": 2.5},
    {"ts": 2, "who": "7", "verb": "publish", "symbol": "0815"},
    {"ts": 3, "who": "S", "verb": "unsubscribe", "key": "s1"},
]
_FIELDS: dict[str, Any] = {
    "columns": {"time": "ts", "client": "who", "operation": "verb", "id": "key", "content": "body"},
    "words": {"watch": "subscribe"},
    "attributes": {"symbol": "symbol", "price": "price"},
    "constants": {"class": "X"},
}


def _parquet(file: Path) -> None:
    table = pa.Table.from_pylist([{name: row.get(name) for name in (*_FLAT[0], "symbol", "price")} for row in _FLAT])
    moments = [datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=int(str(row["ts"]))) for row in _FLAT]
    pq.write_table(table.set_column(0, "ts", pa.array(moments, pa.timestamp("us", "UTC"))), file)


def _csv(file: Path) -> None:
    with file.open("w", newline="") as opened:
        writer = csv.DictWriter(opened, [*_FLAT[0], "symbol", "price"])
        writer.writeheader()
        writer.writerows({**row, "ts": f"2026-01-01T00:00:0{row['ts']}Z"} for row in _FLAT)


def _operations(file: Path) -> list[PlannedOperation]:
    scenario = scenario_of(file, **_FIELDS)
    return list(generate(scenario, scenario.overlay()).operations())


def test_three_formats_of_the_same_table_make_the_same_operations(tmp_path: Path) -> None:
    wanted = _operations(write_lines(tmp_path / "t.jsonl", _FLAT))
    assert [made.attributes for made in wanted if made.attributes] == [
        {"class": "X", "symbol": "ACME", "price": 2.5},
        {"class": "X", "symbol": "0815"},
    ]
    _parquet(tmp_path / "t.parquet")
    _csv(tmp_path / "t.csv")
    assert _operations(tmp_path / "t.parquet") == wanted
    assert _operations(tmp_path / "t.csv") == wanted


def test_the_shipped_table_is_what_its_script_writes() -> None:
    assert parking.FILE.read_text(encoding="utf-8") == parking.table()


def _changed(number: int, **cells: object) -> list[dict[str, object]]:
    return [{**row, **(cells if place == number else {})} for place, row in enumerate(ROWS, start=1)]


@pytest.mark.parametrize(
    ("rows", "mistake"),
    [
        (_changed(4, time=9), "row 4, column time: 9 is before the row above; sort the file by time"),
        (_changed(4, time="noon"), "row 4, column time: 'noon' is not a time; write a number, or 2026-01-31T23:59:59"),
        (_changed(5, client="a b"), "row 5, column client: 'a b' is not a client's name; use letters, digits and _.- "),
        (_changed(4, operation="unsubscribed"), "row 4, column operation: 'unsubscribed' is no operation and none of"),
        (_changed(4, id="s9"), "row 4: Bob has no subscription 's9' that stands here; it cannot be withdrawn"),
        (_changed(4, id=None), "row 4: unsubscribe needs the id of what it withdraws"),
        (_changed(5, client="Bob", time=10.5)[:3] + _changed(5, client="Bob")[4:], "row 4: Bob has 's1' from row 2"),
        (_changed(3, content={"class": "X", "prize": 3}), "row 3: unknown attribute 'prize': no advertisement of Ann"),
        (_changed(3, content={"class": "X", "price": -3}), "row 3: conforms to no advertisement of Ann that stands"),
        (_changed(3, content={"price": 3}), "row 3, column content: a publication must carry the attribute 'class'"),
        (_changed(5, content="[class,is,'X']"), "row 5, column content: line 1, column 8: 'is' is not an operator"),
    ],
)
def test_a_row_that_cannot_be_played_is_named_with_its_remedy(
    tmp_path: Path, rows: list[dict[str, object]], mistake: str
) -> None:
    scenario = scenario_of(write_lines(tmp_path / "t.jsonl", rows))
    (found,) = problems(scenario, scenario.overlay())
    assert found.path == ("workload", "operations")
    assert found.message.startswith(f"t.jsonl, {mistake}")


def test_reading_stops_after_some_mistakes(tmp_path: Path) -> None:
    rows = [{"time": 0, "client": "", "content": {"class": "X"}}] * 1000
    scenario = scenario_of(write_lines(tmp_path / "t.jsonl", rows))
    found = [problem.message for problem in problems(scenario, scenario.overlay())]
    assert len(found) == 6
    assert found[-1] == "t.jsonl: reading stopped there; mend these first"


def _torn(file: Path) -> None:
    _parquet(file)
    file.write_bytes(file.read_bytes()[:-20])


def _damaged(file: Path) -> None:
    _parquet(file)
    content = bytearray(file.read_bytes())
    content[10:80] = b"\xff" * 70
    file.write_bytes(content)


@pytest.mark.parametrize(
    ("name", "write", "mistake"),
    [
        ("t.parquet", _torn, "t.parquet is no whole Parquet file: "),
        ("t.parquet", _damaged, "t.parquet is damaged behind row 0: "),
        ("t.parquet", lambda file: None, "t.parquet does not exist"),
        ("t.parquet", Path.mkdir, "t.parquet is a directory, and a file is expected"),
        ("t.jsonl", lambda file: file.write_text('{"ts":1,"who":"A","ve'), "t.jsonl row 1 is no JSON object: "),
        ("t.csv", lambda file: file.write_text(""), "t.csv is empty: its first line must name the columns"),
        ("t.csv", lambda file: file.write_text("who,ts,verb,key,body,symbol\n"), "t.csv has no column 'price'"),
        ("t.csv", lambda file: file.write_text("when,who\n"), "t.csv has no column 'ts' (columns.time); there are"),
        ("t.csv", lambda file: file.write_bytes(b"ts,who\n\xff,1\n"), "t.csv behind row 0 it is not UTF-8 text"),
        (
            "t.csv",
            lambda file: file.write_text("who,ts,verb,key,body,symbol,price\n1,2\n"),
            "t.csv row 1 has 2 cells, and the header names 7 columns",
        ),
        (
            "t.csv",
            lambda file: file.write_text("who,ts,verb,key,body,symbol,price\nA,1,publish,,,S,2\nA,1,publish,,,S,x\n"),
            "t.csv, row 2, column price: 'x' is not a number, and the column's first cell is one",
        ),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_in_one_sentence(
    tmp_path: Path, name: str, write: Callable[[Path], object], mistake: str
) -> None:
    write(tmp_path / name)
    (found,) = contents_of(scenario_of(tmp_path / name, **_FIELDS).workload).mistakes  # type: ignore[arg-type]
    assert found.startswith(mistake)
    assert "\n" not in found


def test_a_file_that_changes_is_read_again(tmp_path: Path) -> None:
    file = write_lines(tmp_path / "t.jsonl", ROWS)
    section = scenario_of(file).workload
    assert contents_of(section).course.count == 2  # type: ignore[arg-type]
    file.write_text(file.read_text() + json.dumps({**ROWS[-1], "time": 20}) + "\n")
    assert contents_of(section).course.count == 3  # type: ignore[arg-type]
