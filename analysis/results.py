"""Tables on disk: one Parquet file each, `results/<name>.parquet`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from types import TracebackType
from typing import Generic, Self, TypeVar

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow.json import ParseOptions, ReadOptions, read_json

from analysis.errors import RunDirectoryError
from analysis.schema import arrow_schema
from analysis.tables import TABLES

ROWS_AT_ONCE = 20_000
"""Held before they are written."""

_Row = TypeVar("_Row", bound=msgspec.Struct)


def write_table(rows: Sequence[_Row], results: Path, row: type[_Row]) -> None:
    """Replaces `results/<name>.parquet` in one step."""
    with _replaced(results / _file(row)) as file, pq.ParquetWriter(file, arrow_schema(row)) as writer:
        if rows:
            writer.write_table(_arrow_table(rows, row))


def read_table(results: Path, row: type[_Row]) -> list[_Row]:
    """The rows of a table, typed: `read_table(run / "results", LinkLoad)`. In no particular order.

    Raises `RunDirectoryError` when the run was not analysed.
    """
    file = results / _file(row)
    try:
        with pq.ParquetFile(file) as opened:
            table = opened.read()
    except FileNotFoundError:
        raise RunDirectoryError(f"{file}: no such table; `brokerlab analyze {results.parent}` makes it") from None
    except (OSError, pa.ArrowException) as error:
        raise RunDirectoryError(f"{file}: {error}") from error
    return [msgspec.convert(each, row) for each in table.to_pylist()]


class PartWriter(Generic[_Row]):
    """Writes a part of a table, to be put together with others by `join_parts`. Made again, it replaces the part."""

    def __init__(self, directory: Path, row: type[_Row], number: int) -> None:
        self._row = row
        self._file = _part(directory, row, number)
        self._writer: pq.ParquetWriter | None = None
        self._waiting: list[_Row] = []

    def __enter__(self) -> Self:
        return self

    def write(self, row: _Row) -> None:
        self._waiting.append(row)
        if len(self._waiting) >= ROWS_AT_ONCE:
            self._flush()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None and self._waiting:
            self._flush()
        if self._writer is not None:
            self._writer.close()

    def _flush(self) -> None:
        if self._writer is None:
            self._writer = pq.ParquetWriter(self._file, arrow_schema(self._row))
        self._writer.write_table(_arrow_table(self._waiting, self._row))
        self._waiting.clear()


def join_parts(directory: Path, row: type[_Row], results: Path) -> int:
    """Makes `results/<name>.parquet` of the parts of a table, row group by row group. Returns the number of rows."""
    rows = 0
    with _replaced(results / _file(row)) as file, pq.ParquetWriter(file, arrow_schema(row)) as writer:
        for part in sorted(directory.glob(f"{_name(row)}-*.parquet")):
            with pq.ParquetFile(part) as read:
                for number in range(read.num_row_groups):
                    group = read.read_row_group(number)
                    writer.write_table(group)
                    rows += group.num_rows
    return rows


@contextmanager
def _replaced(target: Path) -> Iterator[Path]:
    """A file beside the target that takes its place when all went well."""
    part = target.with_name(f".{target.name}.part")
    try:
        yield part
        part.replace(target)
    finally:
        with contextlib.suppress(FileNotFoundError):
            part.unlink()


def _arrow_table(rows: Sequence[_Row], row: type[_Row]) -> pa.Table:
    """Of at least one row. By way of JSON: to take lists, Arrow would load pandas wherever that is installed."""
    schema = arrow_schema(row)
    lines = msgspec.json.Encoder().encode_lines(rows)
    whole = ReadOptions(use_threads=False, block_size=len(lines))
    read = read_json(BytesIO(lines), read_options=whole, parse_options=ParseOptions(explicit_schema=schema))
    return pa.Table.from_arrays(read.columns, schema=schema)  # which knows what is never null


def _part(directory: Path, row: type[msgspec.Struct], number: int) -> Path:
    return directory / f"{_name(row)}-{number:06}.parquet"


def _file(row: type[msgspec.Struct]) -> str:
    return f"{_name(row)}.parquet"


def _name(row: type[msgspec.Struct]) -> str:
    return next(name for name, struct in TABLES.items() if struct is row)
