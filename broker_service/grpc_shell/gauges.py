"""Regular measurements of a broker process: lag of its event loop and queue lengths; it also flushes the log."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Protocol

from broker_service.links.overlay_link import OverlayLink
from broker_service.messages import BrokerId
from broker_service.trace import Recorder
from broker_service.trace_writer import FLUSH_INTERVAL, FileTrace, NullTrace
from record.log import Event

INTERVAL_TICKS = 10
"""Ticks between two records of a gauge; a tick is `FLUSH_INTERVAL`, so this makes a second."""


class LoopLag:
    """The worst lag of an event loop. `tick` must be called once in `FLUSH_INTERVAL` seconds."""

    def __init__(self, time: Callable[[], float]) -> None:
        self._time = time
        self._expected: float | None = None
        self._worst = 0.0

    def tick(self) -> None:
        now = self._time()
        if self._expected is not None:
            self._worst = max(self._worst, now - self._expected)
        self._expected = now + FLUSH_INTERVAL

    def take(self) -> float:
        """The worst lag since the last call, in seconds."""
        worst, self._worst = self._worst, 0.0
        return worst


class MeasuredService(Protocol):
    """The queue in front of a broker, as far as it is measured."""

    @property
    def waiting(self) -> int:
        """Messages that wait for service."""

    @property
    def longest_wait(self) -> int:
        """The longest wait since this was read last, in nanoseconds."""


class QueueGauges:
    """The queue lengths of one broker."""

    def __init__(self, links: Mapping[BrokerId, OverlayLink], service: MeasuredService, recorder: Recorder) -> None:
        self._links = links
        self._service = service
        self._recorder = recorder
        self._last: dict[BrokerId | None, tuple[int, int]] = {}

    def take(self) -> None:
        """Logs the length of each queue that is not empty, or was not the last time."""
        for neighbour, link in self._links.items():
            self._queue(neighbour, link.queue_length, link.in_flight)
        self._queue(None, self._service.waiting, 0, self._service.longest_wait)

    def _queue(self, peer: BrokerId | None, waiting: int, in_flight: int, duration: int | None = None) -> None:
        if (waiting, in_flight) != self._last.get(peer, (0, 0)):
            self._last[peer] = (waiting, in_flight)
            self._recorder.note(Event.QUEUE, peer=peer, queue=waiting, count=in_flight, duration=duration)


class Gauges:
    """The regular records of a broker process."""

    def __init__(self, queues: QueueGauges, trace: FileTrace | NullTrace, recorder: Recorder) -> None:
        self._queues = queues
        self._trace = trace
        self._recorder = recorder

    async def run(self) -> None:
        """Flushes the log and takes gauges until cancelled."""
        lag = LoopLag(asyncio.get_running_loop().time)
        ticks = 0
        while True:
            lag.tick()
            await asyncio.sleep(FLUSH_INTERVAL)
            ticks += 1
            if ticks % INTERVAL_TICKS == 0:
                self._recorder.note(Event.LAG, duration=round(lag.take() * 1e9))
                self._queues.take()
            self._trace.flush()
