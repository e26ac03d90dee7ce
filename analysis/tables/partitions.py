"""Tables that grow with every message: folders whose parts workers write, so that no row passes the driver.

`results/notifications.parquet/variant=fixed/part-000001.parquet` is read by Spark, Arrow, pandas and DuckDB as part
of one table whose column `variant` is in the path. Names of variants are percent-encoded, so that any name will do.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Generic, Self, TypeVar
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from analysis.run_files.folders import Folder
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

    def __init__(self, parts: Folder | None, row: type[Row], number: int) -> None:
        """`parts` is the folder given by `parts_folder`; without one, nothing is written."""
        self._row: type[Row] = row
        self._parts = parts
        self._file = f"part-{number:06}.parquet"
        self._variant: str | None = None
        self._writer: tuple[pq.ParquetWriter, pa.NativeFile] | None = None
        self._waiting: list[Row] = []

    def __enter__(self) -> Self:
        return self

    def write(self, row: Row) -> None:
        if self._parts is None:
            return
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
        else:
            self._close()

    def _flush(self) -> None:
        if self._writer is None:
            assert self._parts is not None
            file = self._parts.create(f"{_partition(table_file(self._row), self._variant or '')}/{self._file}")
            self._writer = pq.ParquetWriter(file, _file_schema(self._row)), file
        self._writer[0].write_table(table_of(self._waiting, self._row).drop_columns(PARTITION_KEY))
        self._waiting.clear()

    def _finish(self) -> None:
        """Completes the variant's file."""
        if self._waiting:
            self._flush()
        self._close()

    def _close(self) -> None:
        if self._writer is not None:
            for part in self._writer:
                part.close()
            self._writer = None


@contextmanager
def parts_folder(results: Folder) -> Iterator[Folder]:
    """The folder for the workers' parts, removed at the end."""
    for name in results.names():
        if name.startswith(_PARTS):  # by an analysis that was killed
            results.remove(name)
    name = f"{_PARTS}{secrets.token_hex(8)}"
    parts = results.below(name)
    parts.make()
    try:
        yield parts
    finally:
        with suppress(OSError):
            results.remove(name)


def publish_parts(parts: Folder, row: type[Row], results: Folder, variants: Iterable[str]) -> int:
    """Assembles `results/<name>.parquet` from the parts of a table, replacing an older one. Returns the number of
    rows."""
    table = table_file(row)
    files = parts.files(table)
    for variant in variants:
        if not _any_in(folder := _partition(table, variant), files):
            _write_empty(parts, folder, _file_schema(row))
    rows = sum(_rows(parts, file) for file in files)
    parts.move(table, results)
    return rows


def publish_events(parts: Folder, results: Folder, variants: Iterable[str]) -> None:
    """Assembles `results/events` from its parts, replacing an older one. A variant without records has an empty file of
    its first kind of event, so that it is known to the table."""
    files = parts.files(EVENTS)
    for variant in variants:
        folder = event_partition((variant, Event.STARTED))
        if not _any_in(folder.rpartition("/")[0], files):
            _write_empty(parts, folder, event_schema())
    parts.move(EVENTS, results)


def _partition(table: str, variant: str) -> str:
    """The folder of a variant's rows."""
    return f"{table}/{PARTITION_KEY}={quote(variant, safe='')}"


def _any_in(folder: str, files: Iterable[str]) -> bool:
    return any(file.startswith(f"{folder}/") for file in files)


def _write_empty(parts: Folder, folder: str, schema: pa.Schema) -> None:
    with parts.create(f"{folder}/{_EMPTY}") as file:
        pq.write_table(schema.empty_table(), file)


def _rows(parts: Folder, file: str) -> int:
    with parts.open(file) as opened:
        return int(pq.read_metadata(opened).num_rows)


def _file_schema(row: type[Row]) -> pa.Schema:
    schema = arrow_schema(row)
    return schema.remove(schema.get_field_index(PARTITION_KEY))
