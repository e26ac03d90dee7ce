"""Patience with a start: it goes on for as long as brokers and links come up, and names what it waits for."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

Clock = Callable[[], float]


class Patience:
    """A deadline that progress puts off."""

    def __init__(self, within: float, clock: Clock = time.monotonic) -> None:
        """`within` are the seconds without progress after which patience ends."""
        self._within = within
        self._clock = clock
        self._most = -1
        self._until = clock() + within

    def has_ended(self, progress: int) -> bool:
        """True where nothing more has come up for too long; `progress` counts what is up by now."""
        now = self._clock()
        if progress > self._most:
            self._most, self._until = progress, now + self._within
        return now > self._until


def busy_processors() -> str | None:
    """The reason why a start takes long on a host whose processors have more to do than they can."""
    load, processors = os.getloadavg()[0], len(os.sched_getaffinity(0))
    if load <= processors:
        return None
    return (
        f"the processors of this host are busy: {load:.1f} processes want to run at a time, on {processors} of them; "
        "fewer brokers, or an idle host, start sooner"
    )
