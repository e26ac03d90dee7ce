from __future__ import annotations

import os
import shutil
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.query import Database, open_tables
from analysis.query.database import ctrl_c_as_usual
from analysis.tables.event_choice import EventTable
from record.errors import BadInputError, RunDirectoryError
from tests.analysis.history import joined, write_run

VARIANT = "b, c=1/2 %25 'x'"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("runs") / "it's one"
    write_run(directory, [joined("a").publish().notify(), joined(VARIANT).publish()])
    analyze(directory, PlainEngine(), events=EventTable.ALL)
    return directory


@pytest.fixture(scope="module")
def database(run: Path) -> Iterator[Database]:
    with open_tables([run]) as opened:
        yield opened


def rows(database: Database, sql: str) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for batch in database.answer(sql).batches for row in batch.to_pylist()]


def test_names_of_variants_and_kinds_of_events_come_from_the_path(database: Database) -> None:
    found = rows(database, "SELECT variant, event, count(*) FROM events WHERE kind IS NULL GROUP BY ALL ORDER BY ALL")
    assert ("a", "subscribe", 1) in found
    assert {variant for variant, _, _ in found} == {"a", VARIANT}
    assert rows(database, "SELECT variant, notifications FROM expected ORDER BY variant") == [("a", 1), (VARIANT, 0)]


def test_rows_of_several_runs_are_told_apart(run: Path, tmp_path: Path) -> None:
    other = tmp_path / "two"
    shutil.copytree(run, other)
    shutil.rmtree(other / "results" / "events")
    with open_tables([run, other]) as database:
        assert rows(database, "SELECT run, count(*) FROM expected GROUP BY ALL ORDER BY run") == [
            ("it's one", 2),
            ("two", 2),
        ]
        assert rows(database, "SELECT DISTINCT run FROM events") == [("it's one",)]
    namesake = tmp_path / "else" / "two"
    shutil.copytree(other, namesake)
    with open_tables([other, namesake]) as database:
        assert rows(database, "SELECT DISTINCT run FROM phases ORDER BY run") == sorted(
            [(str(other),), (str(namesake),)]
        )


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("SELEC 1", "syntax error"),
        ("", "one statement that reads"),
        ("SELECT 1; SELECT 2", "one statement that reads"),
        ("SELECT * FROM nothing", "the tables are notifications, expected, .*, events$"),
        ("SELECT node::INT FROM events", "Could not convert"),
    ],
)
def test_wrong_sql_is_one_line(database: Database, sql: str, told: str) -> None:
    with pytest.raises(BadInputError, match=f"^SQL: .*{told}") as raised:
        rows(database, sql)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM read_text('{run}/manifest.json')",
        "SELECT * FROM glob('{run}/*')",
        "SELECT * FROM read_parquet('http://127.0.0.1:9/table.parquet')",
        "SELECT getenv('HOME')",
        "SELECT * FROM run",
        "COPY (SELECT 1) TO '{run}/results/more.csv'",
        "COPY (SELECT 1) TO '{run}/results/phases.parquet'",
        "ATTACH '{run}/results/base.db'",
        "INSTALL httpfs",
        "SET enable_external_access=true",
        "CREATE TABLE more AS SELECT 1",
        "DROP VIEW events",
        "EXPLAIN ANALYZE COPY (SELECT 1) TO '{run}/results/phases.parquet'",
    ],
)
def test_sql_reaches_nothing_but_the_tables(database: Database, run: Path, sql: str) -> None:
    before = {file: file.read_bytes() for file in run.rglob("*") if file.is_file()}
    with pytest.raises(BadInputError):
        rows(database, sql.format(run=str(run).replace("'", "''")))
    assert {file: file.read_bytes() for file in run.rglob("*") if file.is_file()} == before


def test_a_run_without_tables_is_told(tmp_path: Path) -> None:
    for directory, told in ((tmp_path / "none", "no such run directory"), (tmp_path, "brokerlab analyze")):
        with pytest.raises(RunDirectoryError, match=told), open_tables([directory]):
            pass


def test_a_damaged_table_is_named(run: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(run, broken)
    (broken / "results" / "links.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(RunDirectoryError, match=r"links\.parquet"), open_tables([broken]):
        pass


def test_a_signal_during_a_query_is_a_keyboard_interrupt(database: Database) -> None:
    """Several times, because a query that has several threads hangs after some signals only."""
    for number in range(10):
        asked = threading.Timer(0.1 + number / 100, os.kill, (os.getpid(), signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            asked.start()
            rows(database, "SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b")
        asked.join()
    assert rows(database, "SELECT 1") == [(1,)]


def test_other_errors_stay_what_they_are() -> None:
    with pytest.raises(RuntimeError, match="no legs"), ctrl_c_as_usual():
        raise RuntimeError("no legs")
