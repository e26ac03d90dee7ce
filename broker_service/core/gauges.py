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
_UNCHANGED: Final = None, None
"""Lengths of a queue that are as before, and left out of its record."""


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


class MeasuredBroker(Protocol):
    """A broker, as far as it is measured."""

    @property
    def incarnation(self) -> int: ...
    @property
    def links(self) -> Mapping[BrokerId, OverlayLink]: ...
    def buffers(self) -> Sequence[MeasuredBuffer]: ...


def recorded(link: OverlayLink) -> tuple[int, int]:
    """Messages that a link has sent, and their bytes, as far as they are recorded: one whose sending takes time is
    recorded when it is written."""
    if link.sending is None:
        return link.sent, link.sent_bytes
    unrecorded = link.sending.unrecorded
    return link.sent - len(unrecorded), link.sent_bytes - sum(message.size for message in unrecorded)


class _SentTo:
    """The messages sent to one neighbour, over all links to it: one that is removed and added again is another link."""

    __slots__ = ("_before", "_link", "noted")

    def __init__(self, link: OverlayLink) -> None:
        self._before = 0, 0
        """Messages and bytes over the links that were removed."""
        self._link = link
        self.noted = 0
        """Messages of the last record."""

    def follow(self, link: OverlayLink) -> None:
        """Counts on over the link that there is now."""
        if link is not self._link:
            self._before, self._link = self.total(), link

    def total(self) -> tuple[int, int]:
        """Messages, and their bytes."""
        messages, size = recorded(self._link)
        return self._before[0] + messages, self._before[1] + size


class QueueGauges:
    """The queue lengths of one broker, and what it has sent to each neighbour."""

    def __init__(self, links: Mapping[BrokerId, OverlayLink], service: MeasuredService, recorder: Recorder) -> None:
        self._links = links
        self._service = service
        self._recorder = recorder
        self._last: dict[BrokerId | None, tuple[int, int]] = {}
        """The lengths of the queues that were not empty the last time."""
        self._sent: dict[BrokerId, _SentTo] = {}
        """The messages sent, by neighbour, without those to which nothing was sent."""

    def take(self) -> None:
        """Logs the length of each queue that is not empty, or was not the last time, and what was sent since then."""
        for neighbour, link in self._links.items():
            if link.sent:
                self._follow(neighbour, link)
            lengths = None
            if not link.idle or neighbour in self._last:
                lengths = self._changed(neighbour, (link.queue_length, len(link.retransmission.in_flight)))
            if lengths is not None:
                self._note(neighbour, lengths)
        self.take_sent()
        lengths, longest_wait = self._changed(None, (self._service.waiting, 0)), self._service.longest_wait
        if lengths is not None:
            self._recorder.note(Event.QUEUE, queue=lengths[0], count=lengths[1], duration=longest_wait)

    def take_sent(self) -> None:
        """Logs what was sent since the last time, of links whose queues are as before and of links that were removed
        as well."""
        for neighbour, sent in self._sent.items():
            if sent.total()[0] != sent.noted:
                self._note(neighbour, _UNCHANGED)

    def forget_lengths(self) -> None:
        """Takes all queues for empty, so that their lengths are logged anew."""
        self._last.clear()

    def _follow(self, neighbour: BrokerId, link: OverlayLink) -> None:
        sent = self._sent.get(neighbour)
        if sent is None:
            self._sent[neighbour] = _SentTo(link)
        else:
            sent.follow(link)

    def _changed(self, peer: BrokerId | None, lengths: tuple[int, int]) -> tuple[int, int] | None:
        """The lengths of a queue; None if they are as before."""
        if lengths == self._last.get(peer, _EMPTY):
            return None
        if lengths == _EMPTY:
            del self._last[peer]
        else:
            self._last[peer] = lengths
        return lengths

    def _note(self, neighbour: BrokerId, lengths: tuple[int | None, int | None]) -> None:
        messages = size = 0
        if (sent := self._sent.get(neighbour)) is not None:
            messages, size = sent.total()
            sent.noted = messages
        waiting, in_flight = lengths
        self._recorder.note(Event.QUEUE, peer=neighbour, queue=waiting, count=in_flight, sent=messages, bytes=size)


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


class Gauges:
    """All gauges of one broker, which its shell takes once a second."""

    def __init__(
        self,
        broker: MeasuredBroker,
        service: MeasuredService,
        recorder: Recorder,
        work: Callable[[], int],
        memory: Callable[[], int | None],
    ) -> None:
        """`work` and `memory` are those of `LoadGauge`."""
        self.queues = QueueGauges(broker.links, service, recorder)
        self._buffers = BufferGauges(broker.buffers, recorder)
        self._load = LoadGauge(recorder, broker.incarnation, work, memory)
        self._recorder = recorder
        self._incarnation = broker.incarnation

    def begin(self, program: str | None = None) -> None:
        """Logs that the broker has started, with the digest of its program, and its first load."""
        self._recorder.note(Event.STARTED, count=self._incarnation, text=program)
        self._load.take()

    def take(self) -> None:
        """Logs the queues, the buffers and the load."""
        self.queues.take()
        self._buffers.take()
        self._load.take()
