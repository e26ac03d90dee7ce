"""Measures the offset of this host's clock from the run's while its share of a run is in progress."""

from __future__ import annotations

import contextlib
import threading
from types import TracebackType
from typing import Self

from emulation.network.model import NetworkError
from emulation.network.probing.echo import Clock, ClockReading, FarHost
from record.manifest import ClockOffset

INTERVAL = 10.0
"""Seconds between two estimates during a run."""


def offset_of(reading: ClockReading) -> ClockOffset:
    """The offset to add to this host's time to get the run's."""
    return ClockOffset(at=reading.at, offset=reading.offset, error=reading.error)


class ClockWatch:
    """Estimates the offset on entering, every `INTERVAL` seconds, and on leaving. Raises `NetworkError` on entering and
    leaving; an estimate between them that fails is left out."""

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
        """The latest estimate."""
        return self.offsets[-1]

    def _estimate(self) -> None:
        self.offsets.append(offset_of(self._reference.clock(Clock.MONOTONIC)))

    def _watch(self) -> None:
        while not self._over.wait(INTERVAL):
            with contextlib.suppress(NetworkError):  # the estimates before and after remain
                self._estimate()
