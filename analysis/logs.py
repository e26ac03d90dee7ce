"""From `logs/*.jsonl` to one DataFrame of records, and a count of what could not be read."""

from __future__ import annotations

from itertools import chain, pairwise
from pathlib import Path

import msgspec
from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its usual name
from pyspark.sql.types import StringType, StructField, StructType

from analysis.run_directory import RunDirectory
from analysis.schema import spark_schema
from broker_service.trace import Event, TraceRecord

_UNREADABLE = "_unreadable"
"""Column that holds a line Spark could not read by the schema."""
_STARTED = Event.STARTED.value.encode()
_REQUIRED = ("time", "node", "variant", "event")


class LogLoss(msgspec.Struct, frozen=True, kw_only=True):
    """How whole the logs are."""

    records: int
    """Lines that could be read."""
    torn: int
    """Lines cut off because their writer was killed: the last of a file, or followed by the writer's next start."""
    malformed: int
    """Other lines that are no record of the log schema."""


def read_lines(session: SparkSession, run: RunDirectory) -> DataFrame:
    """Every line of the run's logs by the schema, none of it inferred; kept in memory, as nearly everything needs it.

    The columns are those of `TraceRecord`, and one that tells the lines that are none.
    """
    schema = StructType([*spark_schema(TraceRecord).fields, StructField(_UNREADABLE, StringType())])
    files = [file.resolve().as_uri() for file in run.log_files]
    lines = session.read.schema(schema).json(files, mode="PERMISSIVE", columnNameOfCorruptRecord=_UNREADABLE)
    return lines.withColumn(_UNREADABLE, ~_readable()).persist(StorageLevel.MEMORY_AND_DISK)


def records_of(lines: DataFrame) -> DataFrame:
    """Those of `read_lines` that are log records."""
    return lines.where(~F.col(_UNREADABLE)).drop(_UNREADABLE)


def log_loss(lines: DataFrame, run: RunDirectory) -> LogLoss:
    """Counts what could and what could not be read. Runs a Spark job."""
    counted = lines.agg(F.count("*"), F.count_if(F.col(_UNREADABLE))).first()
    assert counted is not None
    total, damaged = counted
    torn = min(damaged, sum(map(count_torn, run.log_files))) if damaged else 0
    return LogLoss(records=total - damaged, torn=torn, malformed=damaged - torn)


def _readable() -> Column:
    present = F.col(_UNREADABLE).isNull()
    for name in _REQUIRED:
        present = present & F.col(name).isNotNull()
    return present


def count_torn(file: Path) -> int:
    """How many lines of a log were cut off.

    A writer that was killed leaves part of a line at the end of its file; one that is started again ends that line and
    begins with a `started` record.
    """
    torn = 0
    with file.open("rb") as lines:
        for line, following in pairwise(chain(lines, [b""])):
            unfinished = not following and not line.endswith(b"\n")
            if (unfinished or _STARTED in following) and _event(line) is None:
                torn += _event(following) is Event.STARTED or unfinished
    return torn


def _event(line: bytes) -> Event | None:
    try:
        return msgspec.json.decode(line, type=TraceRecord).event
    except msgspec.DecodeError:
        return None
