"""Made-up delays of a variant, with budget and replay."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import UNSET

from analysis.tables.budget import DelayParts
from analysis.tables.summary import Delay, DelayBudget, DelayWithoutContention

MEASURED: Mapping[str, float] = {"mean": 20.0, "p50": 16.0, "p95": 40.0, "p99": 80.0}
"""Milliseconds of each figure."""


def parts(
    contention: float | None = 0.5, unexplained: float = 0.4, waiting: float = 0.0, delay: float = MEASURED["mean"]
) -> DelayParts:
    rest = delay - (contention or 0.0) - unexplained - waiting
    return DelayParts(
        links_ms=rest, waiting_for_links_ms=0.0, waiting_at_brokers_ms=waiting, work_ms=0.0, platform_ms=0.0,
        contention_ms=contention, unexplained_ms=unexplained, unexplained_absolute_ms=abs(unexplained),
    )  # fmt: skip


def replayed(notifications: int = 1000, **figures: float) -> DelayWithoutContention:
    """A replay in which these figures are others than as measured."""
    values = MEASURED | figures
    return DelayWithoutContention(
        notifications=notifications, mean_ms=values["mean"], p50_ms=values["p50"], p95_ms=values["p95"],
        p99_ms=values["p99"],
    )  # fmt: skip


def delay(
    made_of: DelayParts | None, without_contention: DelayWithoutContention | None = None, known: int = 1000
) -> Delay:
    """Delays of 1000 notifications; the log has the ways of some."""
    budget = UNSET
    if made_of is not None:
        budget = DelayBudget(notifications=known, parts=made_of, contention_at="B4", unexplained_at="B2")
    return Delay(
        notifications=1000, mean_ms=MEASURED["mean"], p50_ms=MEASURED["p50"], p95_ms=MEASURED["p95"],
        p99_ms=MEASURED["p99"], max_ms=100.0, queueing_share=None, ways_known=known, budget=budget,
        without_contention=UNSET if without_contention is None else without_contention,
    )  # fmt: skip
