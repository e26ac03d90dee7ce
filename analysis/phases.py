"""When each variant ran: the phases of the manifest, and seconds counted from its phase `run`."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its usual name
from pyspark.sql import types as spark

from analysis.run_directory import RUN_PHASE, Variant

SECOND = 1_000_000_000
"""Nanoseconds."""

_TIMES = spark.StructType(
    [
        spark.StructField("variant", spark.StringType()),
        spark.StructField("run_start_ns", spark.LongType()),
        spark.StructField("end_ns", spark.LongType()),
        spark.StructField("interrupted", spark.BooleanType()),
    ]
)


def variant_times(session: SparkSession, variants: Sequence[Variant]) -> DataFrame:
    """One row per variant: run_start_ns, end_ns (when brokers began to stop), interrupted.

    Where the phase `run` was never reached, seconds count from the end of what was.
    """
    return session.createDataFrame(
        [(each.name, run_start(each), each.end, each.interrupted) for each in variants], _TIMES
    )


def run_start(variant: Variant) -> int | None:
    run = variant.phase(RUN_PHASE)
    return run.start if run is not None else variant.end


def seconds(time: str) -> Column:
    """Whole seconds from `run_start_ns` to the time in this column, rounded down."""
    return F.floor((F.col(time) - F.col("run_start_ns")) / SECOND)


def phase_table(session: SparkSession, variants: Sequence[Variant]) -> DataFrame:
    """The table `phases`."""
    rows = [
        (each.name, phase.name, phase.start, phase.end, _offset(phase.start, each), _offset(phase.end, each))
        for each in variants
        for phase in each.phases
    ]
    return session.createDataFrame(
        rows, "variant string, phase string, start_ns long, end_ns long, start_s double, end_s double"
    )


def _offset(time: int, variant: Variant) -> float:
    return (time - (run_start(variant) or time)) / SECOND
