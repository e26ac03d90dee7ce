"""Delay, by time, by size and by distance. Only a client's first notification of a publication counts."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from analysis.tables import as_table

CLASSES_PER_DECADE = 20
SMALLEST_MS = 0.001
"""Delays below a microsecond fall into its class."""
_PERCENTILES = {"p50_ms": 0.5, "p95_ms": 0.95, "p99_ms": 0.99}


def timed(notifications: DataFrame) -> DataFrame:
    """First notifications whose delay is known."""
    return notifications.where((F.col("repeat") == 0) & F.col("delay_ms").isNotNull())


def delay_aggregates() -> list[Column]:
    """notifications, mean_ms, p50_ms, p95_ms, p99_ms, max_ms (exact percentiles) and queueing_share."""
    whole = F.when(F.col("queueing_ms").isNotNull(), F.col("delay_ms"))
    return [
        F.count("*").alias("notifications"),
        F.mean("delay_ms").alias("mean_ms"),
        *(F.percentile("delay_ms", share).alias(name) for name, share in _PERCENTILES.items()),
        F.max("delay_ms").alias("max_ms"),
        (F.sum("queueing_ms") / F.nullif(F.sum(whole), F.lit(0.0))).alias("queueing_share"),
    ]


def delays_over_time(notifications: DataFrame) -> DataFrame:
    """The table `delays`."""
    return _grouped(notifications, "second").transform(as_table("delays"))


def delays_by_hops(notifications: DataFrame) -> DataFrame:
    """The table `hops`."""
    return _grouped(notifications.where(F.col("hops").isNotNull()), "hops").transform(as_table("hops"))


def delay_distribution(notifications: DataFrame) -> DataFrame:
    """The table `distribution`: class i spans 10^(i/20) to 10^((i+1)/20) milliseconds."""
    clipped = F.greatest("delay_ms", F.lit(SMALLEST_MS))
    number = F.floor(F.log10(clipped) * CLASSES_PER_DECADE)
    return (
        notifications.transform(timed)
        .groupBy("variant", number.alias("number"))
        .agg(F.count("*").alias("notifications"))
        .withColumn("lower_ms", F.pow(F.lit(10.0), F.col("number") / CLASSES_PER_DECADE))
        .withColumn("upper_ms", F.pow(F.lit(10.0), (F.col("number") + 1) / CLASSES_PER_DECADE))
        .transform(as_table("distribution"))
    )


def _grouped(notifications: DataFrame, column: str) -> DataFrame:
    return notifications.transform(timed).groupBy("variant", column).agg(*delay_aggregates())
