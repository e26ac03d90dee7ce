"""A broker of the simulation: the very core that the gRPC server drives, driven in virtual time.

What the server's asyncio parts do is done here by calls on an agenda: `LinkEnd` stands for a link's port and stream
(`broker_service.link_port`, `link_stream`), `server` for the broker's own work (`broker_service.service`).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import partial

from broker_service.broker import Broker
from broker_service.config import BrokerConfig
from broker_service.duplex import Pace
from broker_service.gauges import QueueGauges
from broker_service.link_stream import ACKNOWLEDGE_AFTER
from broker_service.messages import BrokerId, Message
from broker_service.trace import Event, Recorder, Trace
from emulation.simulation.agenda import Agenda
from emulation.simulation.calibration import Calibration
from emulation.simulation.links import NANOSECONDS, Direction
from emulation.simulation.server import make_server

FRAME_BYTES = 16
"""Bytes of a frame's own: the headers of HTTP/2 (9) and gRPC (5), the acknowledgement (about 2)."""
MESSAGE_BYTES = 13
"""Bytes of a message in a frame, besides its id, body and header."""
GAUGE_INTERVAL = NANOSECONDS


class SimulatedBroker:
    """One incarnation of a broker."""

    def __init__(self, config: BrokerConfig, agenda: Agenda, trace: Trace, calibration: Calibration) -> None:
        self.config = config
        self.alive = True
        self.agenda = agenda
        self.latency = calibration.link.sampler(random.Random(f"{config.seed}:{config.id}:{config.incarnation}:link"))
        """Draws what a frame takes besides its link, in nanoseconds."""
        self._timers: dict[str, int] = {}
        self._recorder = Recorder(trace, agenda.clock)
        self.core = Broker(config, agenda.clock, trace, self._schedule)
        self.server = make_server(agenda, config, calibration)
        self.ends: dict[BrokerId, LinkEnd] = {link.neighbour: LinkEnd(self, link.neighbour) for link in config.links}
        self._gauges = QueueGauges(self.core.links, self.server, self._recorder)
        self._recorder.note(Event.STARTED, count=config.incarnation)
        agenda.background(agenda.now + GAUGE_INTERVAL, self._gauge)

    @property
    def busy(self) -> bool:
        """Whether a message waits here, is served, or is on its way to a neighbour."""
        return bool(self.server.waiting) or any(
            link.queue_length or link.in_flight for link in self.core.links.values()
        )

    def kill(self) -> None:
        """Ends at once, as a crash does: nothing is said to anybody."""
        self.alive = False
        self.server.close()
        for end in self.ends.values():
            end.close()

    def stop(self) -> None:
        """Ends in order."""
        for end in self.ends.values():
            end.close()
        self._recorder.note(Event.STOPPED, count=0)
        self.kill()

    def _schedule(self, name: str, seconds: float) -> None:
        number = self._timers.get(name, 0) + 1
        self._timers[name] = number
        self.agenda.background(self.agenda.now + round(seconds * NANOSECONDS), partial(self._fire, name, number))

    def _fire(self, name: str, number: int) -> None:
        if self.alive and self._timers[name] == number:
            self.core.timer(name)

    def _gauge(self) -> None:
        if self.alive:
            self._gauges.take()
            self.agenda.background(self.agenda.now + GAUGE_INTERVAL, self._gauge)


class LinkEnd:
    """A broker's end of one overlay link: frames out of the link's queue, and into the broker."""

    def __init__(self, broker: SimulatedBroker, neighbour: BrokerId) -> None:
        self.link = broker.core.links[neighbour]
        self.opposite: LinkEnd | None = None
        """The neighbour's end of the stream that is open; None while none is."""
        self._broker = broker
        self._agenda = broker.agenda
        self._direction: Direction | None = None
        self._acknowledge_every = max(1, broker.config.limits.window // 4)
        self._acknowledged = 0
        self._acknowledging = False
        self._waking = False
        self._stream = 0
        """The number of the stream that is open, 0 for none: what comes from another one is not heard."""
        self._must_speak = False
        self._held: list[Callable[[], None]] = []
        self._pace = Pace(0.0)
        self._flush_stream: Callable[[], None] = _nothing
        self._handle_stream: Callable[[Sequence[Message]], None] = _ignore
        """`_flush` and `_handle` of the stream that is open, made once and not for each frame."""

    @property
    def incarnation(self) -> int:
        return self._broker.config.incarnation

    @property
    def alive(self) -> bool:
        return self._broker.alive

    def handled_of(self, sender: LinkEnd) -> int:
        """How many messages of this incarnation of the neighbour were handled here before, as a hello tells."""
        return self.link.received if self.link.neighbour_incarnation == sender.incarnation else 0

    def is_open(self, stream: int) -> bool:
        """Whether this very stream is open at this end."""
        return self._stream == stream

    def open(self, stream: int, opposite: LinkEnd, direction: Direction, handled: int) -> None:
        """A stream is open to the neighbour's end, which has handled so many messages of this broker before."""
        self.close()
        self._stream = stream
        self._flush_stream = partial(self._flush, stream)
        self._handle_stream = partial(self._handle, stream)
        self.opposite = opposite
        self._direction = direction
        self._pace = Pace(self._agenda.now / NANOSECONDS)
        self._broker.core.link_up(self.link.neighbour, opposite.incarnation, handled)
        self._acknowledged = self.link.received
        self._waking = self._acknowledging = False
        self.link.on_waiting = self._wake
        self._wake()

    def close(self) -> None:
        """The stream is no more. The broker is told, if it lives."""
        if self.opposite is None:
            return
        self._stream = 0
        self.opposite = None
        self._held.clear()
        self.link.on_waiting = _nothing
        if self._broker.alive:
            self._broker.core.link_down(self.link.neighbour)

    def release(self) -> None:
        """The direction from here works again after it was cut; what it held arrives, if the stream outlived that."""
        held, self._held = self._held, []
        for arrive in held:
            self._agenda.soon(arrive)

    # Out

    def _wake(self) -> None:
        """There is, or may be, something to send: it travels with all that the present call puts into the queue."""
        if not self._waking and self.link.sendable:
            self._waking = True
            self._agenda.soon(self._flush_stream)

    def _flush(self, stream: int) -> None:
        if stream != self._stream:
            return
        self._waking = False
        messages = self.link.take()
        if not messages and not self._must_speak:
            return
        self._send(messages)
        while self.link.sendable:
            self._send(self.link.take())
        delay = self._pace.take(self._agenda.now / NANOSECONDS)
        if delay > 0:
            self._waking = True
            self._agenda.at(self._agenda.now + round(delay * NANOSECONDS), self._flush_stream)

    def _send(self, messages: Sequence[Message]) -> None:
        assert self.opposite is not None
        assert self._direction is not None
        agenda = self._agenda
        self._must_speak = False
        self._acknowledged = acknowledged = self.link.received
        size = FRAME_BYTES
        for message in messages:
            size += MESSAGE_BYTES + len(message.id) + len(message.body) + len(message.header)
        arrive = partial(self.opposite._receive, self._stream, messages, acknowledged)
        if not self._direction.up:
            self._held.append(arrive)
            return
        agenda.at(self._direction.arrival(agenda.now, size, self._broker.latency()), arrive)

    # In

    def _receive(self, stream: int, messages: Sequence[Message], acknowledged: int) -> None:
        if stream != self._stream:
            return
        self.link.acknowledge(acknowledged)
        if messages:
            self._broker.server.submit(self._handle_stream, messages)
        self._wake()

    def _handle(self, stream: int, messages: Sequence[Message]) -> None:
        if stream != self._stream:
            return
        link = self.link
        self._broker.core.receive(link.neighbour, messages)
        if link.received - self._acknowledged >= self._acknowledge_every:
            self._acknowledge()
        elif not self._acknowledging:
            self._acknowledging = True
            later = self._agenda.now + round(ACKNOWLEDGE_AFTER * NANOSECONDS)
            self._agenda.background(later, partial(self._acknowledge_late, stream))

    def _acknowledge_late(self, stream: int) -> None:
        if stream != self._stream:
            return
        self._acknowledging = False
        if self.link.received != self._acknowledged:
            self._acknowledge()

    def _acknowledge(self) -> None:
        """Sends a frame even if no message waits."""
        if self._waking:
            self._must_speak = True
        else:
            self._send(())


def _nothing() -> None:
    """Stands in until a stream is open."""


def _ignore(_messages: Sequence[Message]) -> None:
    """Stands in until a stream is open."""
