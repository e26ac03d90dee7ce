"""Tables on disk, `results/<name>.parquet`: writes those of one file each, and reads all of them."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from analysis.tables.catalogue import TABLES
from analysis.tables.rows import table_of
from analysis.tables.schema import arrow_schema
from record.errors import RunDirectoryError
from record.files import require_regular

ROWS_AT_ONCE = 20_000
"""Rows held in memory before they are written."""
PARTITION_KEY = "variant"
"""The column that a partitioned table has in the names of its directories instead of in its files."""

_Row = TypeVar("_Row", bound=msgspec.Struct)


def write_table(rows: Iterable[_Row], results: Path, row: type[_Row], *, present: Collection[str] = ()) -> None:
    """Replaces `results/<name>.parquet` in one step. `present` are columns that may be null and are not in this run."""
    schema = pa.schema(
        [field.with_nullable(field.nullable and field.name not in present) for field in arrow_schema(row)]
    )
    with _replaced(results / table_file(row)) as file, pq.ParquetWriter(file, schema) as writer:
        remaining = iter(rows)
        while chunk := list(islice(remaining, ROWS_AT_ONCE)):
            table = table_of(chunk, row)
            writer.write_table(table.cast(schema) if present else table)


def remove_table(results: Path, row: type[msgspec.Struct]) -> None:
    """Removes a small table that an earlier analysis wrote and this one does not have."""
    (results / table_file(row)).unlink(missing_ok=True)


def read_table(results: Path, row: type[_Row]) -> list[_Row]:
    """The rows of a table, typed: `read_table(run / "results", LinkLoad)`, in no particular order.

    Raises `RunDirectoryError` when the run was not analysed, or the table is damaged or of another version.
    """
    file = results / table_file(row)
    with _damage_reported(file):
        return [msgspec.convert(found, row) for found in (_partitioned if file.is_dir() else _rows)(file)]


def read_partition(results: Path, row: type[_Row], variant: str) -> list[_Row]:
    """The rows of one variant in a partitioned table; none of a variant that has no directory there.

    Raises `RunDirectoryError` as `read_table` does.
    """
    table = results / table_file(row)
    with _damage_reported(table):
        found = [directory for directory in table.iterdir() if _variant_of(directory) == variant]
        return [msgspec.convert(read, row) for directory in found for read in _partition(directory)]


def read_columns(
    results: Path, row: type[msgspec.Struct], columns: Sequence[str]
) -> Iterator[tuple[str, Iterator[pa.RecordBatch]]]:
    """Some columns of a partitioned table: each variant with its rows in batches, in no particular order.

    Raises `RunDirectoryError` as `read_table` does, at the latest when the last batch is taken.
    """
    table = results / table_file(row)
    with _damage_reported(table):
        for directory in sorted(table.iterdir()):
            yield _variant_of(directory), _batches(table, directory, columns)


def _batches(table: Path, directory: Path, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    with _damage_reported(table):
        for file in sorted(directory.iterdir()):
            require_regular(file)
            with pq.ParquetFile(file) as opened:
                yield from opened.iter_batches(columns=list(columns))


@contextmanager
def _damage_reported(table: Path) -> Iterator[None]:
    """Turns a table that is missing, damaged or of another version of brokerlab into one line with the remedy."""
    remedy = f"`brokerlab analyze {table.parent.parent}`"
    try:
        yield
    except FileNotFoundError:
        raise RunDirectoryError(f"{table}: no such table; {remedy} makes it") from None
    except (OSError, pa.ArrowException, msgspec.ValidationError) as error:
        raise RunDirectoryError(f"{table}: cannot be read: {error}; {remedy} makes it anew") from error


def _rows(file: Path) -> Iterator[dict[str, Any]]:
    require_regular(file)
    with pq.ParquetFile(file) as opened:
        for batch in opened.iter_batches():
            yield from batch.to_pylist()


def _partitioned(table: Path) -> Iterator[dict[str, Any]]:
    """The rows of a partitioned table. `pyarrow.dataset` would load pandas wherever that is installed."""
    for directory in sorted(table.iterdir()):
        yield from _partition(directory)


def _partition(directory: Path) -> Iterator[dict[str, Any]]:
    """The rows of one variant."""
    variant = _variant_of(directory)
    for file in sorted(directory.iterdir()):
        yield from ({PARTITION_KEY: variant, **row} for row in _rows(file))


def _variant_of(directory: Path) -> str:
    return unquote(directory.name.removeprefix(f"{PARTITION_KEY}="))


def table_file(row: type[msgspec.Struct]) -> str:
    """The name of a table's file or directory."""
    return f"{next(name for name, struct in TABLES.items() if struct is row)}.parquet"


@contextmanager
def _replaced(target: Path) -> Iterator[Path]:
    """A file beside the target that replaces it if no error occurs. Its name is new, so no link there is followed."""
    part = target.with_name(f".{target.name}.{secrets.token_hex(8)}.part")
    try:
        yield part
        part.replace(target)
    finally:
        with contextlib.suppress(FileNotFoundError):
            part.unlink()
