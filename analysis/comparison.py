"""Two variants side by side: the same seed gives the same workload, so their notifications pair up."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from analysis.delays import timed

BLOCK_SECONDS = 5
"""Delays of neighbouring publications depend on each other through queues; resampling moves such blocks as a whole."""
FEWEST_BLOCKS = 5
"""Below this many blocks no interval is given."""
RESAMPLES = 2000
CONFIDENCE = 0.95


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Mean delay of `variant` against `reference`, over pairs of the same publication and client."""

    reference: str
    variant: str
    pairs: int
    """Notifications of the same publication to the same client that both variants delivered."""
    reference_mean_ms: float | None
    variant_mean_ms: float | None
    relative_difference: float | None
    """variant mean / reference mean - 1: -0.2 is a fifth less delay. Null without pairs."""
    interval: tuple[float, float] | None
    """95% interval of the relative difference, by a block bootstrap over blocks of five seconds; null below five."""


def paired_blocks(notifications: DataFrame, reference: str, variant: str) -> DataFrame:
    """One row per block of the reference's run time: pairs, reference_ms and variant_ms (sums of delays)."""

    def of(name: str, column: str) -> Column:
        return F.max(F.when(F.col("variant") == name, F.col(column)))

    return (
        notifications.transform(timed)
        .where(F.col("variant").isin(reference, variant))
        .groupBy("publication", "client")
        .agg(
            of(reference, "delay_ms").alias("reference_ms"),
            of(variant, "delay_ms").alias("variant_ms"),
            of(reference, "second").alias("second"),
        )
        .where(F.col("reference_ms").isNotNull() & F.col("variant_ms").isNotNull())
        .groupBy(F.floor(F.col("second") / BLOCK_SECONDS).alias("block"))
        .agg(F.count("*").alias("pairs"), F.sum("reference_ms"), F.sum("variant_ms"))
        .orderBy("block")
        .toDF("block", "pairs", "reference_ms", "variant_ms")
    )


def compare(
    reference: str, variant: str, blocks: Sequence[tuple[int | None, int, float, float]], seed: int
) -> Comparison:
    """The comparison from `paired_blocks`; `seed` fixes the resampling."""
    pairs = sum(block[1] for block in blocks)
    sums = np.array([block[2:] for block in blocks], dtype=float).reshape(-1, 2)
    total = sums.sum(axis=0)
    comparable = pairs > 0 and total[0] > 0
    return Comparison(
        reference=reference,
        variant=variant,
        pairs=pairs,
        reference_mean_ms=float(total[0]) / pairs if pairs else None,
        variant_mean_ms=float(total[1]) / pairs if pairs else None,
        relative_difference=float(total[1] / total[0] - 1) if comparable else None,
        interval=_interval(sums, seed) if comparable and len(sums) >= FEWEST_BLOCKS else None,
    )


def _interval(sums: np.ndarray, seed: int) -> tuple[float, float]:
    random = np.random.default_rng(seed)
    chosen = random.integers(len(sums), size=(RESAMPLES, len(sums)))
    resampled = sums[chosen].sum(axis=1)
    differences = resampled[:, 1] / resampled[:, 0] - 1
    low, high = np.quantile(differences, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)
