"""Limits on figures of a run, as its scenario gives them: absolute ones, and ones relative to another variant."""

from __future__ import annotations

import enum

import msgspec


class LimitedFigure(enum.StrEnum):
    """A figure of a variant that a scenario may limit; more of it is worse."""

    MEAN = "mean"
    P50 = "p50"
    P95 = "p95"
    P99 = "p99"
    RECOVERY = "recovery"
    MESSAGES = "messages"
    EXCUSED = "excused"
    MEMORY = "memory"

    @property
    def is_delay(self) -> bool:
        """True for a figure of the delays of first notifications."""
        return self in (LimitedFigure.MEAN, LimitedFigure.P50, LimitedFigure.P95, LimitedFigure.P99)

    @property
    def in_words(self) -> str:
        return {
            LimitedFigure.MEAN: "mean delay",
            LimitedFigure.P50: "median delay",
            LimitedFigure.P95: "95th percentile of the delay",
            LimitedFigure.P99: "99th percentile of the delay",
            LimitedFigure.RECOVERY: "longest recovery",
            LimitedFigure.MESSAGES: "messages between brokers",
            LimitedFigure.EXCUSED: "excused notifications",
            LimitedFigure.MEMORY: "memory of the largest broker",
        }[self]


class Limit(msgspec.Struct, frozen=True, kw_only=True):
    """The most that a figure of a variant may be."""

    figure: LimitedFigure
    most: float
    """Milliseconds for delays, seconds for the recovery, bytes for memory, otherwise a number."""


class RelativeLimit(msgspec.Struct, frozen=True, kw_only=True):
    """The most that a figure of a variant may be, relative to the same figure of another variant of the run."""

    figure: LimitedFigure
    than: str
    """The other variant."""
    most: float
    """The largest ratio of both: 0.8 demands a fifth less."""
