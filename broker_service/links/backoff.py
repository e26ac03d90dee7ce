"""Back-off between attempts to open a stream."""

from __future__ import annotations


class BackOff:
    """Delays in seconds: `first` after a success, then twice the former one after each failure, up to `last`."""

    def __init__(self, first: float, last: float) -> None:
        self._first = first
        self._last = last
        self._next = first

    def take(self) -> float:
        """The delay before the next attempt."""
        delay = self._next
        self._next = min(2 * delay, self._last)
        return delay

    def reset(self) -> None:
        """Notes that an attempt succeeded."""
        self._next = self._first
