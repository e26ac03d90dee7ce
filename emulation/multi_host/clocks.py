"""Watches how far this host's clock is from the run's, while its part of a run goes on."""

from __future__ import annotations

import contextlib
import threading
from types import TracebackType
from typing import Self

from emulation.network.echo import Clock, ClockReading, FarHost
from emulation.network.model import NetworkError
from record.manifest import ClockOffset

INTERVAL = 10.0
"""Seconds between two estimates while a run goes on."""


def offset_of(reading: ClockReading) -> ClockOffset:
    """What is to be added to this host's time to have the run's."""
    return ClockOffset(at=reading.at, offset=reading.offset, error=reading.error)


class ClockWatch:
    """Estimates on entering, every `INTERVAL` seconds as far as that works, and on leaving. Raises `NetworkError`."""

    def __init__(self, reference: FarHost) -> None:
        self._reference = reference
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="clock watch", daemon=True)
        self.offsets: list[ClockOffset] = []

    def __enter__(self) -> Self:
        self._estimate()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()
        if kind is None:
            self._estimate()

    def latest(self) -> ClockOffset:
        """The one that holds now."""
        return self.offsets[-1]

    def _estimate(self) -> None:
        self.offsets.append(offset_of(self._reference.clock(Clock.MONOTONIC)))

    def _watch(self) -> None:
        while not self._over.wait(INTERVAL):
            with contextlib.suppress(NetworkError):  # those before and after still tell
                self._estimate()
