"""All tables of one run or several, as views of a DuckDB database in memory.

Rules for the SQL of a user:

1. It is one statement that reads. Statements that write, load or set anything are refused.
2. It reaches the files of the tables and no other file, and no network: DuckDB has a list of these files, external
   access is off, and the configuration is locked.
3. Rows come in batches, so that an answer of any length needs little memory; what DuckDB cannot hold goes to the
   command's scratch directory.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa

from analysis.tables.catalogue import TABLES
from analysis.tables.events import EVENTS, PATH_COLUMNS
from analysis.tables.results import PARTITION_KEY
from record.errors import BadInputError, RunDirectoryError
from record.files import RESULTS, require_regular

ROWS_OF_BATCH = 20_000
_SETTINGS = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
    "threads": "1",
}
"""One thread, because DuckDB 2.0.1 with several waits forever for its own tasks after one in seven interrupts."""
_INTERRUPTED = "Query interrupted"
"""Text of the error of DuckDB for a query during which a signal came."""
_READING = frozenset({duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN})


@dataclass(frozen=True, slots=True)
class _Table:
    """The files of a table in one run."""

    name: str
    files: Sequence[str]
    path_columns: Sequence[str]

    def sql(self, run: str | None) -> str:
        """The statement that reads the table, with the column `run` where a name is given."""
        named = "*" if run is None else f"{_text(run)} AS run, *"
        types = ", ".join(f"{column}: VARCHAR" for column in self.path_columns)
        divided = f"hive_partitioning=true, hive_types={{{types}}}" if types else "hive_partitioning=false"
        return f"SELECT {named} FROM read_parquet({_list(self.files)}, {divided})"  # noqa: S608 - names are quoted


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a query."""

    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]
    """The rows, which are computed as they are taken. Raises `BadInputError` where that fails."""


class Database:
    """The views; made by `open_tables`."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, tables: Sequence[str]) -> None:
        self._connection = connection
        self._tables = tables

    def has(self, table: str) -> bool:
        """True where any run has rows in a table, and so a view of it."""
        return table in self._tables

    def answer(self, sql: str) -> Answer:
        """The answer to a query. Raises `BadInputError` for SQL that is wrong or not allowed."""
        with self._errors_in_words():
            statements = duckdb.extract_statements(sql)
            reads = len(statements) == 1 and statements[0].type in _READING
            relation = self._connection.sql(sql) if reads else None
            if relation is None:
                raise BadInputError("SQL: write one statement that reads, such as SELECT count(*) FROM notifications")
            reader = relation.to_arrow_reader(ROWS_OF_BATCH)
            return Answer(reader.schema, self._batches(reader))

    def _batches(self, reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
        with self._errors_in_words():
            yield from reader

    @contextmanager
    def _errors_in_words(self) -> Iterator[None]:
        try:
            with ctrl_c_as_usual():
                yield
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            message, _, _ = str(error).partition("\n\nLINE ")
            known = f"; the tables are {', '.join(self._tables)}" if "Table with name" in message else ""
            raise BadInputError(f"SQL: {' '.join(message.split())}{known}") from error


@contextmanager
def ctrl_c_as_usual() -> Iterator[None]:
    """Turns the errors that DuckDB raises on Ctrl-C back into a `KeyboardInterrupt`."""
    try:
        yield
    except duckdb.InterruptException:
        raise KeyboardInterrupt from None
    except RuntimeError as error:
        if str(error) != _INTERRUPTED:
            raise
        raise KeyboardInterrupt from None


@contextmanager
def open_tables(runs: Sequence[Path], tables: Sequence[str] = (*TABLES, EVENTS)) -> Iterator[Database]:
    """A view for each of these tables that the runs have, by default for all; of several runs, their rows together with
    a column `run`, which is the name of the run's directory.

    To open a database and its views takes 30 ms, so that many questions to one run should be asked of one database.

    Raises `RunDirectoryError` for a run that was not analysed.
    """
    names = _names(runs)
    found = [_tables(run) for run in runs]
    files = [file for of_run in found for table in of_run.values() for file in table.files]
    with ctrl_c_as_usual(), tempfile.TemporaryDirectory(prefix="query-") as scratch:
        connection = duckdb.connect(":memory:", config={**_SETTINGS, "temp_directory": scratch})
        try:
            connection.execute(f"SET allowed_paths={_list(files)}")
            connection.execute("SET enable_external_access=false")
            connection.execute("SET lock_configuration=true")
            known = [name for name in tables if any(name in of_run for of_run in found)]
            for name in known:
                reads = [of_run[name].sql(run) for run, of_run in zip(names, found, strict=True) if name in of_run]
                connection.execute(f"CREATE VIEW {name} AS {' UNION ALL BY NAME '.join(reads)}")
            yield Database(connection, known)
        except duckdb.Error as error:
            message = " ".join(str(error).split())
            raise RunDirectoryError(
                f"{runs[0]}: its tables cannot be read: {message}; `brokerlab analyze` makes them anew"
            ) from error
        finally:
            connection.close()


def _names(runs: Sequence[Path]) -> list[str | None]:
    """The names of the runs: those of their directories, or whole paths where these are not distinct; None for the only
    one."""
    if len(runs) == 1:
        return [None]
    named = Counter(run.resolve().name for run in runs)
    return [run.resolve().name if named[run.resolve().name] == 1 else str(run) for run in runs]


def _tables(run: Path) -> Mapping[str, _Table]:
    """The tables of a run, by name."""
    results = run / RESULTS
    if not run.is_dir():
        raise RunDirectoryError(f"{run}: no such run directory; `brokerlab emulate` prints its own")
    found = {
        table.name: table
        for table in (
            *(_table(name, results / f"{name}.parquet", (PARTITION_KEY,)) for name in TABLES),
            _table(EVENTS, results / EVENTS, PATH_COLUMNS),
        )
        if table.files
    }
    if not found:
        raise RunDirectoryError(f"{run}: it has no tables; `brokerlab analyze {run}` makes them")
    return found


def _table(name: str, place: Path, path_columns: Sequence[str]) -> _Table:
    if not place.is_dir():
        return _Table(name, _regular([place] if place.exists() else []), ())
    return _Table(name, _regular(sorted(place.rglob("*.parquet"))), path_columns)


def _regular(files: Sequence[Path]) -> list[str]:
    """The files as absolute paths. Raises `RunDirectoryError` for one that is none, such as a pipe."""
    for file in files:
        try:
            require_regular(file)
        except OSError as error:
            raise RunDirectoryError(f"{file}: {error.strerror}; `brokerlab analyze` makes it anew") from error
    return [str(file.absolute()) for file in files]


def _list(texts: Sequence[str]) -> str:
    return f"[{', '.join(map(_text, texts))}]"


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
