"""When each variant ran: the phases of the manifest, and seconds counted from its phase `run`."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import astuple
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its usual name
from pyspark.sql.types import ArrayType

from analysis.run_directory import RUN_PHASE, Variant
from analysis.schema import spark_schema
from analysis.tables import PhaseTimes

SECOND = 1_000_000_000
"""Nanoseconds."""


class VariantTimes(Struct, frozen=True, kw_only=True):
    """What every record of a variant is seen against."""

    variant: str
    run_start_ns: int | None
    """Where the phase `run` was never reached: the end of what was."""
    end_ns: int | None
    """When brokers began to stop."""
    interrupted: bool


def variant_times(session: SparkSession, variants: Sequence[Variant]) -> DataFrame:
    """One row per variant, with the columns of `VariantTimes`."""
    rows = [
        VariantTimes(variant=each.name, run_start_ns=run_start(each), end_ns=each.end, interrupted=each.interrupted)
        for each in variants
    ]
    return _constant(session, VariantTimes, rows)


def run_start(variant: Variant) -> int | None:
    run = variant.phase(RUN_PHASE)
    return run.start if run is not None else variant.end


def seconds(time: str) -> Column:
    """Whole seconds from `run_start_ns` to the time in this column, rounded down."""
    return F.floor((F.col(time) - F.col("run_start_ns")) / SECOND)


def phase_table(session: SparkSession, variants: Sequence[Variant]) -> DataFrame:
    """The table `phases`."""
    rows = [
        PhaseTimes(
            variant=each.name,
            phase=phase.name,
            start_ns=phase.start,
            end_ns=phase.end,
            start_s=_offset(phase.start, each),
            end_s=_offset(phase.end, each),
        )
        for each in variants
        for phase in each.phases
    ]
    return _constant(session, PhaseTimes, rows)


def _offset(time: int, variant: Variant) -> float:
    return (time - (run_start(variant) or time)) / SECOND


def _constant(session: SparkSession, row: type[Struct], rows: Sequence[Struct]) -> DataFrame:
    """A few known rows, as literals: `createDataFrame` would start Python workers to read them."""
    schema = spark_schema(row)
    literals = [F.struct(*(F.lit(value) for value in astuple(each))) for each in rows]
    return session.range(1).select(F.inline(F.array(*literals).cast(ArrayType(schema))))
