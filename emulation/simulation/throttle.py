"""Virtual time that is held back to a multiple of real time, so that people can watch a simulated run."""

from __future__ import annotations

import time
from collections.abc import Callable

from record.time_units import SECOND

_FLUSH_EVERY = 0.25
"""Seconds between two times at which logs are written for those who follow them."""


class Throttle:
    """Lets virtual time pass at a speed. Nothing of the run depends on it but when its logs can be read."""

    def __init__(
        self,
        speed: float,
        wait: Callable[[float], None],
        flush: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`speed` is virtual seconds that pass in one of the `clock`, `wait` sleeps seconds of it, and `flush` writes
        the logs."""
        self._speed = speed
        self._wait = wait
        self._flush = flush
        self._clock = clock
        self._began: tuple[float, int] | None = None
        self._flush_at = 0.0

    def hold(self, now: int) -> None:
        """Waits until virtual time may be `now`, in nanoseconds. The first call begins the count.

        Time that a slow host loses is not made up for, because a run that hurries after a pause cannot be watched.
        """
        real = self._clock()
        if self._began is None:
            self._began = real, now
        began, since = self._began
        early = began + (now - since) / SECOND / self._speed - real
        if real >= self._flush_at:
            self._flush_at = real + _FLUSH_EVERY
            self._flush()
        if early > 0:
            self._wait(early)
        else:
            self._began = real, now
