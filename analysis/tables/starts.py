"""Starts of subscriptions, where a protocol announces them (`Promises.announces_starts`)."""

from __future__ import annotations

from msgspec import Struct

START_NOT_ANNOUNCED = "start not announced"
"""The defect of a subscription whose broker has not announced its start by the time at which it had settled, although
the broker and the session of its client were up."""


class Start(Struct, frozen=True, kw_only=True):
    """One row per variant and subscription of a client, composite ones included, whose broker announces starts."""

    variant: str
    client: str
    subscription: str
    """The client's name for it. A later subscription under the same name has a row of its own."""
    broker: str | None
    farthest: int | None
    """Links to the broker that is farthest from its own."""
    issued_ns: int
    confirmed_ns: int | None
    announced_ns: int | None
    """The first announcement; null without any. After a break of the session the start is announced anew."""
    due_ns: int | None
    """The time by which the announcement had to come; null where none had to: the subscription was withdrawn before,
    the run ended before, or its session or broker was down."""
    latency_ms: float | None
    """From its issue to the announcement, at the client."""
    second: int | None
    """The second of its issue."""

    @property
    def missing(self) -> bool:
        """True where the announcement did not come in time."""
        due, announced = self.due_ns, self.announced_ns
        return due is not None and (announced is None or announced > due)


class StartFigures(Struct, frozen=True, kw_only=True):
    """Starts of subscriptions in one variant."""

    announced: int
    """Subscriptions whose start was announced."""
    missing: int
    """Subscriptions whose start was not announced in time."""
    mean_ms: float | None
    """From the issue of a subscription to the announcement of its start; null without any."""
    p50_ms: float | None
    p95_ms: float | None
    max_ms: float | None

    def in_words(self) -> str:
        latency = "" if self.p50_ms is None else f" after {self.p50_ms:,.1f} ms (median)"
        missing = f", {self.missing:,} not in time" if self.missing else ""
        return f"{self.announced:,} starts of subscriptions announced{latency}{missing}"
