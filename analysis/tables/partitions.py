"""Tables that grow with every message: directories whose parts workers write, so that no row passes the driver.

`results/notifications.parquet/variant=fixed/part-000001.parquet` is read by Spark, Arrow, pandas and DuckDB as part
of one table whose column `variant` is in the path. Names of variants are percent-encoded, so that any name will do.
"""

from __future__ import annotations

import contextlib
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Generic, Self, TypeVar
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from analysis.tables.deliveries import Expectation, Notification
from analysis.tables.detections import Detection, ExpectedDetection
from analysis.tables.events import EVENTS, event_partition, event_schema
from analysis.tables.results import PARTITION_KEY, ROWS_AT_ONCE, table_file
from analysis.tables.rows import table_of
from analysis.tables.schema import arrow_schema
from record.log import Event

_PARTS = ".parts-"
_EMPTY = "part-none.parquet"
"""The file of a variant without rows, which holds the schema."""

Row = TypeVar("Row", Notification, Expectation, Detection, ExpectedDetection)


class PartWriter(Generic[Row]):
    """Writes the rows of a table that one bucket has: one file for each variant. A repeated task replaces them.

    Rows must come variant by variant.
    """

    def __init__(self, parts: Path, row: type[Row], number: int) -> None:
        """`parts` is the directory given by `parts_directory`."""
        self._row: type[Row] = row
        self._table = parts / table_file(row)
        self._file = f"part-{number:06}.parquet"
        self._variant: str | None = None
        self._writer: pq.ParquetWriter | None = None
        self._waiting: list[Row] = []

    def __enter__(self) -> Self:
        return self

    def write(self, row: Row) -> None:
        if row.variant != self._variant:
            self._finish()
            self._variant = row.variant
        self._waiting.append(row)
        if len(self._waiting) >= ROWS_AT_ONCE:
            self._flush()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self._finish()
        elif self._writer is not None:
            self._writer.close()

    def _flush(self) -> None:
        if self._writer is None:
            directory = partition(self._table, self._variant or "")
            directory.mkdir(parents=True, exist_ok=True)
            self._writer = pq.ParquetWriter(directory / self._file, _file_schema(self._row))
        self._writer.write_table(table_of(self._waiting, self._row).drop_columns(PARTITION_KEY))
        self._waiting.clear()

    def _finish(self) -> None:
        """Completes the variant's file."""
        if self._waiting:
            self._flush()
        if self._writer is not None:
            self._writer.close()
            self._writer = None


@contextmanager
def parts_directory(results: Path) -> Iterator[Path]:
    """The directory for the workers' parts, removed at the end."""
    for left in results.glob(f"{_PARTS}*"):  # by an analysis that was killed
        if stat.S_ISDIR(left.lstat().st_mode):
            shutil.rmtree(left, ignore_errors=True)
        else:
            left.unlink()
    parts = Path(tempfile.mkdtemp(prefix=_PARTS, dir=results))
    try:
        yield parts
    finally:
        shutil.rmtree(parts, ignore_errors=True)


def publish_parts(parts: Path, row: type[Row], results: Path, variants: Iterable[str]) -> int:
    """Assembles `results/<name>.parquet` from the parts of a table, replacing an older one. Returns the number of
    rows."""
    table = parts / table_file(row)
    for variant in variants:
        directory = partition(table, variant)
        directory.mkdir(parents=True, exist_ok=True)
        if not any(directory.iterdir()):
            pq.write_table(_file_schema(row).empty_table(), directory / _EMPTY)
    rows = sum(int(pq.read_metadata(file).num_rows) for file in table.rglob("*.parquet"))
    _replace(results / table.name, table, parts / f"{table.name}.old")
    return rows


def publish_events(parts: Path, results: Path, variants: Iterable[str]) -> None:
    """Assembles `results/events` from its parts, replacing an older one. A variant without records has an empty file of
    its first kind of event, so that it is known to the table."""
    table = parts / EVENTS
    for variant in variants:
        directory = event_partition(table, (variant, Event.STARTED))
        if not directory.parent.exists():
            directory.mkdir(parents=True)
            pq.write_table(event_schema().empty_table(), directory / _EMPTY)
    _replace(results / EVENTS, table, parts / f"{EVENTS}.old")


def remove_events(results: Path) -> None:
    """Removes the table of an earlier analysis, which would not belong to this one's."""
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(results / EVENTS)


def partition(table: Path, variant: str) -> Path:
    """The directory of a variant's rows."""
    return table / f"{PARTITION_KEY}={quote(variant, safe='')}"


def _file_schema(row: type[Row]) -> pa.Schema:
    schema = arrow_schema(row)
    return schema.remove(schema.get_field_index(PARTITION_KEY))


def _replace(target: Path, new: Path, aside: Path) -> None:
    """Replaces a directory. That takes two steps: the old one is moved aside first."""
    if target.exists():
        target.rename(aside)
    new.rename(target)
