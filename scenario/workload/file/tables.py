"""Tables of operations on disk: Parquet, JSON lines or CSV, read a batch or a line at a time.

Rows are numbered from 1, without a header. Errors are `TableError`s of one sentence.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from record.time_units import SECOND

if TYPE_CHECKING:
    import pyarrow as pa

Cells = Sequence[object]
"""The cells of one row, in the order of the columns that were asked for; None is an empty one."""

_BATCH = 8_192
"""Rows of a Parquet file that are unpacked together."""
_BUFFER = 1 << 20
"""Bytes of each column of a Parquet file that are read together."""
_LINES_LOOKED_AT = 1_000
"""Lines of JSON in which a column's name must appear at least once."""
_LONGEST_LINE = 1 << 22
"""Bytes of a line of JSON at most, because it is held in memory."""
_NUMBER = re.compile(r"[+-]?[0-9]{1,40}(?P<decimal>(?:\.[0-9]{0,40})?(?:[eE][+-]?[0-9]{1,3})?)", re.ASCII)


class TableError(Exception):
    """A table that cannot be read, or from one row on."""


class Table(Protocol):
    """A table of a known format. Opening it reads no more than the names of its columns."""

    columns: Sequence[str]
    """The names of its columns. Raises `TableError` when it cannot be opened."""

    def time_scale(self, column: str) -> int | None:
        """Nanoseconds of one unit of the numbers in a column whose type says so, which `rows` gives as integers."""

    def rows(self, names: Sequence[str]) -> Iterator[tuple[int, Cells]]:
        """The number of each row and its cells of these columns. Raises `TableError`."""


def open_table(path: Path) -> Table:
    """The table in a file, by the ending of the file's name. Raises `TableError`."""
    try:
        if not path.is_file():
            raise TableError("is a directory, and a file is expected" if path.is_dir() else "does not exist")
        return _TABLES[path.suffix](path)
    except OSError as error:
        raise TableError(f"cannot be read: {error.strerror or error}") from error


class ParquetTable:
    """A Parquet file."""

    def __init__(self, path: Path) -> None:
        import pyarrow as pa  # noqa: PLC0415 - takes a fifth of a second, and few scenarios have such a file
        import pyarrow.parquet as pq  # noqa: PLC0415

        self._path = path
        try:
            with pq.ParquetFile(path) as file:
                self._schema = file.schema_arrow
        except (pa.ArrowException, OSError) as error:
            raise TableError(f"is no whole Parquet file: {_first_line(error)}; write it again") from error
        self.columns: Sequence[str] = self._schema.names

    def time_scale(self, column: str) -> int | None:
        import pyarrow as pa  # noqa: PLC0415

        kind = self._schema.field(column).type
        return 1 if pa.types.is_timestamp(kind) or pa.types.is_date(kind) else None

    def rows(self, names: Sequence[str]) -> Iterator[tuple[int, Cells]]:
        import pyarrow as pa  # noqa: PLC0415
        import pyarrow.parquet as pq  # noqa: PLC0415

        number = 0
        wanted = list(dict.fromkeys(names))
        try:
            with pq.ParquetFile(self._path, buffer_size=_BUFFER, pre_buffer=False) as file:
                for batch in file.iter_batches(_BATCH, columns=wanted, use_threads=False):
                    cells = {name: _plain(batch.column(name)).to_pylist() for name in wanted}
                    for row in zip(*(cells[name] for name in names), strict=True):
                        number += 1
                        yield number, row
        except (pa.ArrowException, OSError) as error:
            raise TableError(f"is damaged behind row {number}: {_first_line(error)}; write it again") from error


def _plain(column: pa.Array) -> pa.Array:
    """A column whose cells are numbers or text: times as nanoseconds since 1970, decimals as floats."""
    import pyarrow as pa  # noqa: PLC0415

    kind = column.type
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return column.cast(pa.timestamp("ns")).cast(pa.int64())
    return column.cast(pa.float64()) if pa.types.is_decimal(kind) else column


class JsonLinesTable:
    """A file with one JSON object a line; a name that an object lacks is an empty cell."""

    def __init__(self, path: Path) -> None:
        self._path = path
        found: dict[str, None] = {}
        for _, row in islice(self._objects(), _LINES_LOOKED_AT):
            found.update(dict.fromkeys(row))
        self.columns: Sequence[str] = list(found)

    def time_scale(self, column: str) -> int | None:
        return None

    def rows(self, names: Sequence[str]) -> Iterator[tuple[int, Cells]]:
        for number, row in self._objects():
            yield number, [row.get(name) for name in names]

    def _objects(self) -> Iterator[tuple[int, dict[str, object]]]:
        decoder = msgspec.json.Decoder(dict[str, object])
        with self._path.open("rb") as file:
            number = 0
            while line := file.readline(_LONGEST_LINE):
                number += 1
                try:
                    yield number, decoder.decode(line)
                except msgspec.MsgspecError as error:
                    torn = "" if line.endswith(b"\n") else ", and it ends in the middle of a line"
                    raise TableError(f"row {number} is no JSON object: {error}{torn}") from error


class CsvTable:
    """A table of comma-separated values whose first line names the columns.

    Empty cells are None. A column of content is one of numbers when its first cell is a number (`number_in`).
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.columns: Sequence[str] = next((row for _, row in self._lines()), [])
        if not self.columns:
            raise TableError("is empty: its first line must name the columns")

    def time_scale(self, column: str) -> int | None:
        return None

    def rows(self, names: Sequence[str]) -> Iterator[tuple[int, Cells]]:
        places = [self.columns.index(name) for name in names]
        width = len(self.columns)
        for number, row in self._lines():
            if number == 0:
                continue
            if len(row) != width:
                raise TableError(f"row {number} has {len(row)} cells, and the header names {width} columns")
            yield number, [row[place] or None for place in places]

    def _lines(self) -> Iterator[tuple[int, list[str]]]:
        """The header with the number 0, and the rows; empty lines are no rows."""
        number = -1
        try:
            with self._path.open(encoding="utf-8-sig", newline="") as file:
                for row in csv.reader(file, strict=True):
                    if row:
                        number += 1
                        yield number, row
        except csv.Error as error:
            raise TableError(f"behind row {max(number, 0)} it is no CSV: {error}") from error
        except UnicodeDecodeError as error:
            raise TableError(f"behind row {max(number, 0)} it is not UTF-8 text; save it as UTF-8") from error


_TABLES: Mapping[str, Callable[[Path], Table]] = {".parquet": ParquetTable, ".jsonl": JsonLinesTable, ".csv": CsvTable}


def number_in(text: str) -> int | float | None:
    """The number that a cell of text shows; None for other text."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    return float(text) if match["decimal"] else int(text)


SCALES = {"s": SECOND, "ms": 1_000_000, "us": 1_000, "ns": 1}
"""Nanoseconds of each unit of time."""


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__
