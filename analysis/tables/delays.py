"""Tables of delays: over time, by size and by the number of links travelled."""

from __future__ import annotations

from msgspec import Struct


class DelayOverTime(Struct, frozen=True, kw_only=True):
    """One row per variant and second that has the intended time of a delivered publication."""

    variant: str
    second: int
    notifications: int
    mean_ms: float
    p50_ms: float
    p95_ms: float
    max_ms: float


class DelayDistribution(Struct, frozen=True, kw_only=True):
    """One row per variant and logarithmic class of delay that holds a notification; 20 classes a decade."""

    variant: str
    lower_ms: float
    """Inclusive."""
    upper_ms: float
    """Exclusive."""
    notifications: int


class DelayFigures(Struct, frozen=True, kw_only=True):
    """The delays of a group of notifications."""

    notifications: int
    mean_ms: float
    p50_ms: float
    p95_ms: float
    p99_ms: float
    max_ms: float
    queueing_share: float | None
    """Share of the delay spent in output queues, over the notifications whose whole path is known."""


class DelayByHops(DelayFigures, frozen=True):
    """One row per variant and number of overlay links travelled."""

    # These are the first columns, because the fields of the base are keyword-only.
    variant: str
    hops: int
