"""Tables on disk: one Parquet file each, `results/<name>.parquet`."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TypeVar

import msgspec
from pyspark.sql import DataFrame, SparkSession

from analysis.errors import RunDirectoryError
from analysis.schema import spark_schema
from analysis.tables import TABLES

_Row = TypeVar("_Row", bound=msgspec.Struct)


def write_table(frame: DataFrame, results: Path, name: str) -> None:
    """Replaces `results/<name>.parquet` in one step. `results` must be reachable by Spark's workers too."""
    part = results / f".{name}.part"
    try:
        frame.coalesce(1).write.mode("overwrite").parquet(part.resolve().as_uri())
        written = [*part.glob("part-*.parquet")]
        if not written:
            raise RunDirectoryError(f"{results}: Spark's workers write elsewhere; a cluster must share this directory")
        target = results / f"{name}.parquet"
        if target.is_dir():
            shutil.rmtree(target)
        written[0].replace(target)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def read_table(session: SparkSession, results: Path, row: type[_Row]) -> list[_Row]:
    """The rows of a table, typed: `read_table(session, run / "results", LinkLoad)`. In no particular order.

    Raises `RunDirectoryError` when the run was not analysed.
    """
    file = results / f"{_name(row)}.parquet"
    if not file.exists():
        raise RunDirectoryError(f"{file}: no such table; `brokerlab analyze {results.parent}` makes it")
    return rows(session.read.schema(spark_schema(row)).parquet(file.resolve().as_uri()), row)


def rows(frame: DataFrame, row: type[_Row]) -> list[_Row]:
    """Collects a (small) table, typed."""
    return [msgspec.convert(each.asDict(recursive=True), row) for each in frame.collect()]


def _name(row: type[msgspec.Struct]) -> str:
    return next(name for name, struct in TABLES.items() if struct is row)
