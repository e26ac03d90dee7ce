"""Messages that enter and leave an output queue, counted interval by interval: a row of the link status table.

Intervals of length t_w follow one another without gaps, and a row always holds the counts of the last complete one, so
that its two counts belong together (OctopiA, section 9.2: "updated after each t_w interval"). A row is brought up to
date when it is changed or read; no timer runs for it.
"""

from __future__ import annotations

from typing import NamedTuple


class Flow(NamedTuple):
    """The messages that entered an output queue and those that left it, in one interval."""

    entered: int
    """Messages that entered the queue (Q_in of the paper)."""
    left: int
    """Messages that left the queue (Q_out of the paper)."""


IDLE = Flow(0, 0)


class LinkFlow:
    """The counts of one output queue. All times are nanoseconds of one clock that never runs backwards."""

    __slots__ = ("_begin", "_entered", "_interval", "_last", "_left")

    def __init__(self, interval: int, now: int) -> None:
        if interval <= 0:
            raise ValueError("the interval of the link status table must be longer than 0")
        self._interval = interval
        self._begin = now
        self._entered = 0
        self._left = 0
        self._last = IDLE

    def enter(self, now: int) -> None:
        """Counts a message that enters the queue."""
        if now - self._begin >= self._interval:
            self._advance(now)
        self._entered += 1

    def leave(self, now: int, count: int) -> None:
        """Counts messages that leave the queue."""
        if now - self._begin >= self._interval:
            self._advance(now)
        self._left += count

    def last(self, now: int) -> Flow:
        """The counts of the last complete interval."""
        if now - self._begin >= self._interval:
            self._advance(now)
        return self._last

    def _advance(self, now: int) -> None:
        over = (now - self._begin) // self._interval
        self._last = Flow(self._entered, self._left) if over == 1 else IDLE
        self._begin += over * self._interval
        self._entered = self._left = 0
