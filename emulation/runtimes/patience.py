"""Patience with a start: it goes on for as long as brokers and links come up, and names what it waits for."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

Clock = Callable[[], float]
_LEAST_SHARE = 0.25
"""The share below which a busy host prolongs patience no further, because what hangs has to be told at last."""


def processor_share() -> float:
    """The share of the time in which a process that wants to run does so on this host, by its load; 0.25 at least."""
    load, processors = _load()
    return max(_LEAST_SHARE, min(1.0, processors / max(load, 1.0)))


class Patience:
    """A deadline that progress puts off.

    Brokers that start side by side share the processors, and all come up late and together where these are busy. So
    seconds count as much as brokers could run in them.
    """

    def __init__(
        self, within: float, clock: Clock = time.monotonic, share: Callable[[], float] = processor_share
    ) -> None:
        """`within` are the seconds without progress, on a host that is not busy, after which patience ends."""
        self._within = within
        self._clock = clock
        self._share = share
        self._most = -1
        self._left = within
        self._looked = clock()

    def has_ended(self, progress: int) -> bool:
        """True where nothing more has come up for too long; `progress` counts what is up by now."""
        now = self._clock()
        self._left -= (now - self._looked) * self._share()
        self._looked = now
        if progress > self._most:
            self._most, self._left = progress, self._within
        return self._left < 0


def busy_processors() -> str | None:
    """The reason why a start takes long on a host whose processors have more to do than they can."""
    load, processors = _load()
    if load <= processors:
        return None
    return (
        f"the processors of this host are busy: {load:.1f} processes want to run at a time, on {processors} of them; "
        "fewer brokers, or an idle host, start sooner"
    )


def _load() -> tuple[float, int]:
    """The number of processes that want to run at a time, and that of the processors for them."""
    return os.getloadavg()[0], len(os.sched_getaffinity(0))
