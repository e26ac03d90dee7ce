"""Exact percentiles of delays, for the tail, where classes of a histogram are too wide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from analysis.query import Database

PERCENTS: Final = (50.0, 90.0, 95.0, 99.0, 99.9, 99.99)


@dataclass(frozen=True, slots=True)
class Percentiles:
    """Delays of the first notifications of one variant, milliseconds."""

    variant: str
    notifications: int
    within: Mapping[float, float]
    """The least delay that so many percent do not exceed. One that is rarer than a notification is left out."""
    most: float


def read_percentiles(tables: Database) -> Sequence[Percentiles]:
    """Computes them from all notifications, variant by variant."""
    shares = ", ".join(f"{percent / 100:.6g}" for percent in PERCENTS)
    asked = (
        f"SELECT variant, count(*) AS notifications, quantile_disc(delay_ms, [{shares}]) AS within, "  # noqa: S608
        "max(delay_ms) AS most FROM notifications WHERE delay_ms IS NOT NULL AND repeat = 0 "
        "GROUP BY variant ORDER BY variant"
    )
    if not tables.has("notifications"):
        return []
    rows = [row for batch in tables.answer(asked).batches for row in batch.to_pylist()]
    return [
        Percentiles(row["variant"], row["notifications"], _resolved(row["within"], row["notifications"]), row["most"])
        for row in rows
    ]


def _resolved(values: Sequence[float], notifications: int) -> Mapping[float, float]:
    pairs = zip(PERCENTS, values, strict=True)
    return {percent: value for percent, value in pairs if (100 - percent) * notifications >= 100 - 1e-6}
