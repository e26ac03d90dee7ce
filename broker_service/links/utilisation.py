"""Messages sent within a sliding window, for the utilisation of a link (TID paper, section 3.3)."""

from __future__ import annotations

from record.time_units import SECOND

STEPS = 16
"""The window slides in steps of one sixteenth."""
_MOST_SAMPLES = STEPS + 1
"""Samples that span the window whenever it ends, because they are a step apart."""


class SentWindow:
    """Messages that one link has sent within its window. Times are nanoseconds of a clock that never runs backwards."""

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
