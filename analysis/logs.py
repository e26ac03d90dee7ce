"""From `logs/*.jsonl` to one DataFrame of records, and a count of what could not be read."""

from __future__ import annotations

from dataclasses import dataclass
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


@dataclass(frozen=True)
class Logs:
    """All records of a run, cached, and what is missing from them."""

    records: DataFrame
    """One row per log record, with the columns of `TraceRecord`."""
    loss: LogLoss


def read_logs(session: SparkSession, run: RunDirectory) -> Logs:
    """Reads every log of the run by the schema, none of it inferred. A line that cannot be read is counted."""
    schema = StructType([*spark_schema(TraceRecord).fields, StructField(_UNREADABLE, StringType())])
    files = [str(file.resolve()) for file in run.log_files]
    lines = session.read.schema(schema).json(files, mode="PERMISSIVE", columnNameOfCorruptRecord=_UNREADABLE)
    lines = lines.withColumn(_UNREADABLE, F.when(~_readable(), F.coalesce(_UNREADABLE, F.lit(""))))
    lines = lines.persist(StorageLevel.MEMORY_AND_DISK)
    unreadable = F.col(_UNREADABLE)
    counted = lines.agg(F.count("*"), F.count(unreadable)).first()
    assert counted is not None
    total, damaged = counted
    torn = min(damaged, sum(map(count_torn, run.log_files))) if damaged else 0
    loss = LogLoss(records=total - damaged, torn=torn, malformed=damaged - torn)
    records = lines.where(unreadable.isNull()).drop(_UNREADABLE)
    return Logs(records, loss)


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
