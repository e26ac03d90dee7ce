"""Messages that enter and leave an output queue, counted for the link status table.

The flow of a queue is counted interval by interval, the utilisation of a link over a sliding window.

Intervals of length t_w follow one another without gaps, and a row always holds the counts of the last complete one, so
that its two counts belong together (OctopiA, section 9.2: "updated after each t_w interval"). A row is brought up to
date when it is changed or read; no timer runs for it.
"""

from __future__ import annotations

from typing import NamedTuple

from record.time_units import SECOND

STEPS = 16
"""The window slides in steps of one sixteenth."""
_MOST_SAMPLES = STEPS + 1
"""Samples that span the window whenever it ends, because they are a step apart."""


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


class SentWindow:
    """Messages that one link has sent within its window, for its utilisation (TID paper, section 3.3).

    Times are nanoseconds of a clock that never runs backwards.
    """

    __slots__ = ("_samples", "_step", "due_at")

    def __init__(self, seconds: float) -> None:
        self.due_at = 0
        """The time from which `note` should be called again; earlier calls would tell no more than the last one."""
        self._step = int(seconds * SECOND / STEPS)
        self._samples: list[tuple[int, int]] = []
        """(time, messages sent by then), oldest first; they span the window, so there are few."""

    def note(self, now: int, sent: int) -> None:
        """Notes how many messages the link has sent by now."""
        self.due_at = now + self._step
        self._samples.append((now, sent))
        if len(self._samples) > _MOST_SAMPLES:
            del self._samples[0]

    def count(self, now: int, sent: int) -> int:
        """Messages sent within the window that ends now; `sent` is the number of all."""
        if not self._samples:
            return 0
        start, samples = now - self._step * STEPS, self._samples
        while len(samples) > 1 and samples[1][0] <= start:  # one at or before the window's start remains, to count from
            del samples[0]
        return sent - samples[0][1]
