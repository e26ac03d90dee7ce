"""Back-off between attempts to open a stream, and the spreading of what many links do at regular times.

All links to a broker that fails break at the same moment, and a broker's links open at nearly the same. Without
spreading, they would dial again, and send heartbeats, at the same moments ever after: after six of 56 brokers of a full
mesh have failed, 150 dials in a few milliseconds of every second.
"""

from __future__ import annotations

import zlib


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


def phase_of(broker: str, neighbour: str) -> float:
    """A share from 0 up to but without 1 that differs from link to link, and is always the same for one."""
    return zlib.crc32(f"{broker} {neighbour}".encode()) / (1 << 32)
