from __future__ import annotations

import io
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from command_line.commands.answer_format import Format
from command_line.commands.query import query
from tests.analysis.history import joined, write_run

SQL = "SELECT 'P:1' AS id, 1.5 AS mean, NULL AS nothing, [1, 2] AS path, sum(second) AS total FROM notifications"
MANY = "SELECT range AS number FROM range(1000)"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = write_run(tmp_path_factory.mktemp("runs") / "run", [joined("a").publish().notify()])
    analyze(directory, PlainEngine())
    return directory


def test_json(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query([run], SQL, Format.JSON)
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["id"], row["mean"], row["nothing"], row["path"]) == ("P:1", 1.5, None, [1, 2])
    assert isinstance(row["total"], int)
    query([run], "SELECT 1 AS one WHERE false", Format.JSON)
    assert json.loads(capsys.readouterr().out) == []


def test_csv(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query([run], "SELECT 'a,b' AS text, NULL AS nothing, [1, 2] AS list, 0.1 AS number", Format.CSV)
    assert capsys.readouterr().out == 'text,nothing,list,number\n"a,b",,"[1,2]",0.1\n'


def test_table_for_people_is_not_folded_and_stops(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query([run], f"SELECT *, repeat('x', 300) AS long FROM ({MANY})", Format.TABLE)
    lines = capsys.readouterr().out.splitlines()
    assert sum("x" * 300 in line for line in lines) == 200
    assert lines[-1].startswith("The first 200 rows")


def test_parquet(run: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    query([run], MANY, Format.PARQUET)
    table = pq.read_table(io.BytesIO(capsysbinary.readouterr().out))
    assert table["number"].to_pylist() == list(range(1000))
