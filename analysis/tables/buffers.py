"""Table of the buffers in which routers keep publications."""

from __future__ import annotations

from msgspec import Struct


class BufferSize(Struct, frozen=True, kw_only=True):
    """One row per variant, broker, buffer of its router, and second in which it was read and was not empty or had been
    used, until clients left. Few protocols have buffers.

    Gryphon has three: the *log* of the publications of a broker's own clients that some leaf has not acknowledged, the
    *cache* by which it answers requests for others, and *reorder*, the publications that it holds back for its clients
    because others are missing before them.
    """

    variant: str
    broker: str
    buffer: str
    second: int
    bytes: int
    """The largest size that was read."""
    publications: int
    """The largest number of publications that was read."""
    notified: int
    """Publications for which clients were notified since the last reading, after they had been in the buffer. One for
    which nothing was missing was there for no time, and counts."""
    mean_wait_ms: float | None
    """The mean time that these were in it: their time at the horizon. Null without any."""
