"""A broker of the simulation: the very core that the gRPC server drives, driven in virtual time.

What the server's asyncio parts do is done here by calls on an agenda: `LinkEnd` stands for a link's port and stream
(`broker_service.grpc_shell.link_port`, `link_stream`), `server` for the broker's own work
(`broker_service.grpc_shell.service`).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import partial

import msgspec

from broker_service.broker import Broker
from broker_service.config import BrokerConfig
from broker_service.grpc_shell.gauges import QueueGauges
from broker_service.grpc_shell.link_stream import ACKNOWLEDGE_AFTER
from broker_service.grpc_shell.service import Service
from broker_service.language import Publication
from broker_service.language.wire import decode_publication
from broker_service.messages import BrokerId, Message
from broker_service.service_time import ServiceTime
from broker_service.trace import Recorder, Trace
from broker_service.transport.duplex import Pace
from emulation.simulation.calibration import Calibration
from emulation.simulation.event_queue import Agenda
from emulation.simulation.links import NANOSECONDS, Direction
from emulation.simulation.server import FrameServer, make_server, make_successor
from record.log import Event

FRAME_BYTES = 16
"""Bytes of a frame's own: the headers of HTTP/2 (9) and gRPC (5), the acknowledgement (about 2)."""
MESSAGE_BYTES = 13
"""Bytes of a message in a frame, besides its id, body and header."""
GAUGE_INTERVAL = NANOSECONDS


class SimulatedBroker:
    """One incarnation of a broker."""

    def __init__(
        self,
        config: BrokerConfig,
        agenda: Agenda,
        trace: Trace,
        calibration: Calibration,
        *,
        stopwatch: Callable[[], int] | None = None,
        decode: Callable[[bytes], Publication] = decode_publication,
    ) -> None:
        self.config = config
        self.alive = True
        self.stopping = False
        """Whether it takes nothing new from clients any more."""
        self.agenda = agenda
        self.held: list[Callable[[], None]] | None = None
        """What a frozen broker has still to do; None when it is not frozen."""
        self._calibration = calibration
        self._servers: list[Service] = []
        """Those it had before its service time changed."""
        self._frozen_at = 0
        self.latency = calibration.link.sampler(random.Random(f"{config.seed}:{config.id}:{config.incarnation}:link"))
        """Draws what a frame takes besides its link, in nanoseconds."""
        self._timers: dict[str, int] = {}
        self._recorder = Recorder(trace, agenda.clock)
        self.core = Broker(config, agenda.clock, trace, self._schedule, stopwatch=stopwatch, decode=decode)
        self.server = make_server(agenda, config, calibration)
        self.ends: dict[BrokerId, LinkEnd] = {link.neighbour: LinkEnd(self, link.neighbour) for link in config.links}
        self._gauges = QueueGauges(self.core.links, self.server, self._recorder)
        self._recorder.note(Event.STARTED, count=config.incarnation)
        agenda.background(agenda.now + GAUGE_INTERVAL, self._gauge)

    @property
    def busy(self) -> bool:
        """Whether a message waits here, is served, or is on its way to a neighbour."""
        return any(server.waiting for server in (*self._servers, self.server)) or any(
            link.queue_length or link.in_flight for link in self.core.links.values()
        )

    @property
    def flushed(self) -> bool:
        """Whether nothing waits here, or is in flight on a link that works."""
        return not any(server.waiting for server in (*self._servers, self.server)) and not any(
            link.up and (link.queue_length or link.in_flight) for link in self.core.links.values()
        )

    def kill(self) -> None:
        """Ends at once, as a crash does: nothing is said to anybody."""
        self.alive = False
        self.held = None
        for server in (*self._servers, self.server):
            server.close()
        for end in self.ends.values():
            end.close()

    def stop(self) -> None:
        """Ends in order."""
        for end in self.ends.values():
            end.close()
        self._recorder.note(Event.STOPPED, count=0)
        self.kill()

    def freeze(self) -> None:
        """Does nothing from now on until `thaw`; what comes in waits in the sockets."""
        if self.held is None:
            self.held = []
            self._frozen_at = self.agenda.now
            for server in (*self._servers, self.server):
                if isinstance(server, FrameServer):
                    server.pause()

    def thaw(self) -> None:
        """Goes on where it was, with what has come in and with the timers that are overdue."""
        if self.held is None:
            return
        held, self.held = self.held, None
        for server in (*self._servers, self.server):
            if isinstance(server, FrameServer):
                server.resume(self.agenda.now - self._frozen_at)
        for call in held:
            self.agenda.soon(call)

    def work_at(self, service_time: ServiceTime) -> None:
        """Another service time holds for what comes in from now on."""
        self._servers = [server for server in (*self._servers, self.server) if server.waiting]
        config = msgspec.structs.replace(self.config, service_time=service_time)
        self.server = make_successor(self.server, self.agenda, config, self._calibration)
        self._gauges = QueueGauges(self.core.links, self.server, self._recorder)

    def _schedule(self, name: str, seconds: float) -> None:
        number = self._timers.get(name, 0) + 1
        self._timers[name] = number
        self.agenda.background(self.agenda.now + round(seconds * NANOSECONDS), partial(self._fire, name, number))

    def _fire(self, name: str, number: int) -> None:
        if self.held is not None:
            self.held.append(partial(self._fire, name, number))
        elif self.alive and self._timers[name] == number:
            self.core.timer(name)

    def _gauge(self) -> None:
        if self.held is not None:
            self.held.append(self._gauge)
        elif self.alive:
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

    @property
    def frozen(self) -> bool:
        return self._broker.held is not None

    @property
    def stream(self) -> int:
        """The number of the stream that is open at this end; 0 for none."""
        return self._stream

    def hold(self, call: Callable[[], None]) -> bool:
        """Keeps a call until the broker goes on. Whether it is frozen, so that it had to be kept."""
        if self._broker.held is None:
            return False
        self._broker.held.append(call)
        return True

    def handled_of(self, sender: LinkEnd) -> int:
        """How many messages of this incarnation of the neighbour were handled here before, as a hello tells."""
        return self.link.received if self.link.neighbour_incarnation == sender.incarnation else 0

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

    def close_stream(self, stream: int) -> None:
        """Closes this very stream, if it is the one that is open here."""
        if not self.hold(partial(self.close_stream, stream)) and self._stream == stream:
            self.close()

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
        if self._broker.held is not None:
            self._broker.held.append(self._flush_stream)
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
        if self._broker.held is not None:
            self._broker.held.append(partial(self._receive, stream, messages, acknowledged))
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
        if stream != self._stream or self.hold(partial(self._acknowledge_late, stream)):
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
