"""Pacing of frames, because a frame costs far more than a message in it.

A stream writes at once as long as it has credit, which a lasting rate of more than one write in `FRAME_INTERVAL` uses
up. From then on, messages that come within an interval travel together. An idle or moderately used stream has no delay,
a busy one has large frames.
"""

from __future__ import annotations

from typing import Final

from record.time_units import SECOND

FRAME_INTERVAL: Final = 0.002
"""Seconds between writes on a busy stream."""

BURST: Final = 16.0
"""Writes that an idle stream may make without regard to the interval."""


class Pace:
    """Credit for writes: it grows by one write in `FRAME_INTERVAL`, up to `BURST`. Times are nanoseconds."""

    __slots__ = ("_credit", "_earned")

    def __init__(self, now: int) -> None:
        self._credit = BURST
        self._earned = now / SECOND

    def take(self, now: int) -> int:
        """Pays for a write at `now`; returns the time from which the next one is allowed."""
        seconds = now / SECOND
        credit = self._credit + (seconds - self._earned) / FRAME_INTERVAL
        self._credit = credit = (credit if credit < BURST else BURST) - 1.0
        self._earned = seconds
        return now if credit >= 0.0 else now + round(-credit * FRAME_INTERVAL * SECOND)
