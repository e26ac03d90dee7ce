"""Times that decide when a leaf asks for a position that it lacks: lateness by paths, and the time answers take."""

from __future__ import annotations

from typing import Final

_LONGEST_PATIENCE: Final = 0.5
"""Seconds, where answers take less."""
_MARGIN: Final = 1.25
"""Patience, as a multiple of the greatest lateness."""
_PERIOD: Final = 1.0
"""Seconds. The greatest lateness is that of the present period and the one before."""
_LONGEST_WAIT: Final = 60.0
"""Seconds between two requests, at most (rule 2.4 of RFC 6298)."""
_MOST_DOUBLINGS: Final = 30


class Patience:
    """Time for which a missing position is waited for, because it may be on its way over a slower path.

    It is a quarter above the greatest lateness seen in the last one to two seconds, of positions that came by
    themselves. The idea is that of the reordering window of RFC 8985, section 6.2. Here the window follows the lateness
    itself and may be longer than a round trip, because queues of loaded brokers differ by more than that. It is at most
    half a second, or the time in which a request is answered where that is longer, because to ask costs no more time.
    """

    def __init__(self, least: float) -> None:
        """`least` is the patience, in seconds, while nothing is late."""
        self.seconds = least
        self.longest = max(least, _LONGEST_PATIENCE)
        """Seconds, at most."""
        self._least = least
        self._period = 0
        self._present = self._former = 0.0

    def late(self, seconds: float, now: float) -> None:
        """A position has come by itself, so many seconds after it was first missed."""
        self.renew(now)
        self._present = max(self._present, seconds)
        self._set()

    def answered_within(self, seconds: float) -> None:
        """Requests are answered within this time, as far as is known."""
        self.longest = max(self._least, _LONGEST_PATIENCE, seconds)

    def renew(self, now: float) -> None:
        """Forgets what was late too long ago."""
        period = int(now / _PERIOD)
        if period != self._period:
            self._former = self._present if period == self._period + 1 else 0.0
            self._present = 0.0
            self._period = period
            self._set()

    def _set(self) -> None:
        self.seconds = min(max(self._least, _MARGIN * max(self._present, self._former)), self.longest)


class AnswerTime:
    """Time after which a request without an answer is repeated: the retransmission timer of RFC 6298.

    Which of several requests an answer belongs to cannot be told. So the time is measured by requests that were not
    repeated (section 3), and stays doubled as often as requests were repeated in vain until there is such a measurement
    (section 5.7). Otherwise a path on which answers take longer than the first guess would never be measured.
    """

    def __init__(self, least: float) -> None:
        """`least` is the time in seconds before anything was measured, and at least."""
        self._least = least
        self._smoothed: float | None = None
        self._variation = 0.0
        self._doublings = 0

    @property
    def is_measured(self) -> bool:
        """True once an answer was measured."""
        return self._smoothed is not None

    @property
    def expected(self) -> float:
        """Seconds in which an answer is expected."""
        measured = 0.0 if self._smoothed is None else self._smoothed + 4 * self._variation
        return max(self._least, measured)

    @property
    def seconds(self) -> float:
        """Seconds to wait for an answer."""
        return min(self.expected * (1 << self._doublings), max(self.expected, _LONGEST_WAIT))

    def measured(self, seconds: float) -> None:
        """The answer to a request that was not repeated has begun to arrive after this time."""
        self._doublings = 0
        if self._smoothed is None:
            self._smoothed, self._variation = seconds, seconds / 2
        else:
            self._variation += (abs(self._smoothed - seconds) - self._variation) / 4
            self._smoothed += (seconds - self._smoothed) / 8

    def repeated(self) -> None:
        """A request is repeated of whose answer nothing has come."""
        self._doublings = min(self._doublings + 1, _MOST_DOUBLINGS)
