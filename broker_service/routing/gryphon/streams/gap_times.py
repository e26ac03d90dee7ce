"""Times that decide when a leaf asks for a position that it lacks: lateness by paths, and the time answers take."""

from __future__ import annotations

from typing import Final

_LONGEST_PATIENCE: Final = 0.5
"""Seconds."""
_MARGIN: Final = 1.25
"""Patience, as a multiple of the greatest lateness."""
_PERIOD: Final = 1.0
"""Seconds. The greatest lateness is that of the present period and the one before."""
_LONGEST_WAIT: Final = 2.0
"""Seconds between two requests, at most."""
_MOST_DOUBLINGS: Final = 30


class Patience:
    """Time for which a missing position is waited for, because it may be on its way over a slower path.

    It is a quarter above the greatest lateness seen in the last one to two seconds, of positions that came by
    themselves. The idea is that of the reordering window of RFC 8985, section 6.2. Here the window follows the lateness
    itself and may be longer than a round trip, because queues of loaded brokers differ by more than that.
    """

    def __init__(self, least: float) -> None:
        """`least` is the patience, in seconds, while nothing is late."""
        self.seconds = least
        self._least = least
        self._period = 0
        self._present = self._former = 0.0

    def late(self, seconds: float, now: float) -> None:
        """A position has come by itself, so many seconds after it was first missed."""
        self.renew(now)
        self._present = max(self._present, seconds)
        self._set()

    def renew(self, now: float) -> None:
        """Forgets what was late too long ago."""
        period = int(now / _PERIOD)
        if period != self._period:
            self._former = self._present if period == self._period + 1 else 0.0
            self._present = 0.0
            self._period = period
            self._set()

    def _set(self) -> None:
        longest = max(self._least, _LONGEST_PATIENCE)
        self.seconds = min(max(self._least, _MARGIN * max(self._present, self._former)), longest)


class AnswerTime:
    """Time after which a request without an answer is repeated: the retransmission timer of RFC 6298, section 2."""

    def __init__(self, least: float) -> None:
        """`least` is the time in seconds before anything was measured, and at least."""
        self._least = least
        self._smoothed: float | None = None
        self._variation = 0.0

    def measured(self, seconds: float) -> None:
        """The answer to a request that was not repeated has begun to arrive after this time."""
        if self._smoothed is None:
            self._smoothed, self._variation = seconds, seconds / 2
        else:
            self._variation += (abs(self._smoothed - seconds) - self._variation) / 4
            self._smoothed += (seconds - self._smoothed) / 8

    def seconds(self, repetitions: int) -> float:
        """Seconds to wait for an answer after so many repetitions without any."""
        measured = 0.0 if self._smoothed is None else self._smoothed + 4 * self._variation
        once: float = max(self._least, measured)
        doubled: float = once * (1 << min(repetitions, _MOST_DOUBLINGS))
        return min(doubled, max(self._least, _LONGEST_WAIT))
