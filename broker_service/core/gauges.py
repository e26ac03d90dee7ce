"""Gauges of a broker: the lengths of its queues, the buffers of its router, its work and its memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol

from broker_service.links.overlay_link import OverlayLink
from broker_service.messages import BrokerId
from broker_service.tracing.trace import Recorder
from record.log import Event

_EMPTY: Final = (0, 0)
"""Messages that wait and messages in flight of a queue that is empty."""


class MeasuredService(Protocol):
    """The queue in front of a broker, as far as it is measured."""

    @property
    def waiting(self) -> int:
        """Messages that wait for service."""

    @property
    def longest_wait(self) -> int:
        """The longest wait since this was read last, in nanoseconds."""


class MeasuredBuffer(Protocol):
    """A buffer of a router, as it was at one moment (`broker_service.routing.interface.Buffer`)."""

    @property
    def name(self) -> str: ...
    @property
    def bytes(self) -> int: ...
    @property
    def publications(self) -> int: ...
    @property
    def notified(self) -> int: ...
    @property
    def waited(self) -> float: ...


class QueueGauges:
    """The queue lengths of one broker."""

    def __init__(self, links: Mapping[BrokerId, OverlayLink], service: MeasuredService, recorder: Recorder) -> None:
        self._links = links
        self._service = service
        self._recorder = recorder
        self._last: dict[BrokerId | None, tuple[int, int]] = {}
        """The lengths of the queues that were not empty the last time."""

    def take(self) -> None:
        """Logs the length of each queue that is not empty, or was not the last time."""
        last = self._last
        for neighbour, link in self._links.items():
            if not link.idle or neighbour in last:
                self._queue(neighbour, link.queue_length, len(link.retransmission.in_flight))
        self._queue(None, self._service.waiting, 0, self._service.longest_wait)

    def _queue(self, peer: BrokerId | None, waiting: int, in_flight: int, duration: int | None = None) -> None:
        lengths = waiting, in_flight
        if lengths == self._last.get(peer, _EMPTY):
            return
        if lengths == _EMPTY:
            del self._last[peer]
        else:
            self._last[peer] = lengths
        self._recorder.note(Event.QUEUE, peer=peer, queue=waiting, count=in_flight, duration=duration)


class BufferGauges:
    """The buffers of one broker's router."""

    def __init__(self, buffers: Callable[[], Sequence[MeasuredBuffer]], recorder: Recorder) -> None:
        self._buffers = buffers
        self._recorder = recorder
        self._last: dict[str, tuple[int, int, float]] = {}
        """Figures at the last look, by buffer: publications in it, publications that clients were notified of from it,
        and the seconds that these waited."""

    def take(self) -> None:
        """Logs each buffer that is not empty, was not the last time, or has been used since."""
        for buffer in self._buffers():
            publications, notified, waited = self._last.get(buffer.name, (0, 0, 0.0))
            self._last[buffer.name] = buffer.publications, buffer.notified, buffer.waited
            released = buffer.notified - notified
            if buffer.publications or publications or released:
                self._recorder.note(
                    Event.BUFFER,
                    label=buffer.name,
                    bytes=buffer.bytes,
                    queue=buffer.publications,
                    count=released or None,
                    duration=round((buffer.waited - waited) * 1e9) if released else None,
                )


class LoadGauge:
    """The work and the memory of one broker."""

    def __init__(self, recorder: Recorder, incarnation: int, work: Callable[[], int], memory: Callable[[], int | None]):
        """`work` is in nanoseconds since the broker started, `memory` in bytes."""
        self._recorder = recorder
        self._incarnation = incarnation
        self._work = work
        self._memory = memory

    def take(self) -> None:
        """Logs the work and the memory."""
        self._recorder.note(Event.LOAD, count=self._incarnation, duration=self._work(), bytes=self._memory())
