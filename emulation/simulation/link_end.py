"""A broker's end of one overlay link in virtual time: it moves the frames of the link's session.

The session decides (`broker_service.links.session`), as it does for the gRPC server. Its heartbeats are off: in virtual
time only the missed ones matter, and `SimulatedLink` knows when that happens. The one that follows the answer to a
hello is modelled, because it tells the other end the round trip; it uses neither the link's rate nor a broker's time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, Protocol

from broker_service.core.neighbours import Neighbours
from broker_service.links.frames import Hello, LinkFrame, MessageFrame, Probe
from broker_service.links.overlay_link import OverlayLink
from broker_service.links.states import State
from broker_service.messages import Message
from broker_service.transport.frames import HEADER_BYTES
from broker_service.transport.length_prefix import PREFIX_BYTES
from emulation.simulation.event_queue import EventQueue
from emulation.simulation.links import Direction
from emulation.simulation.server import SimulatedServer
from record.callbacks import do_nothing
from record.time_units import SECOND

HEADERS: Final = HEADER_BYTES + PREFIX_BYTES
"""Bytes around the content of a frame: the headers of HTTP/2 and of gRPC."""

CLOCK_BYTES: Final = 9
"""Bytes of a field with a time of the run's clock, on a host that has been up for a week to two years. Times of a
simulated run begin at 0 and would be shorter."""

_KIND_BYTES: Final = 2


class BrokerProcess(Protocol):
    """The process of a simulated broker, as an end of one of its links sees it."""

    alive: bool
    held: list[Callable[[], None]] | None
    """Calls that a frozen broker makes once it continues; None when it is not frozen."""
    latency: Callable[[], int]
    """Draws the time that a frame takes in addition to its link, in nanoseconds."""
    server: SimulatedServer

    def hold(self, call: Callable[[], None]) -> bool:
        """Keeps a call until the broker continues. Returns whether it is frozen, so that the call had to be kept."""


class OpenStream:
    """One end of an open stream: the frames that it sends and handles. It does nothing once another stream is open.

    A mesh has a hundred thousand streams. What is due is asked for by methods of this object, which take a fifth of the
    memory of a `partial` for each call.
    """

    __slots__ = (
        "_direction",
        "_end",
        "_flushing",
        "_opposite",
        "_sent_at",
        "_undelivered",
        "_wake_at",
        "number",
        "opposite_number",
    )

    def __init__(
        self, end: LinkEnd, number: int, opposite: LinkEnd, opposite_number: int, direction: Direction
    ) -> None:
        """The numbers are those that the sessions at the two ends have for the stream."""
        self.number = number
        self.opposite_number = opposite_number
        self._end = end
        self._opposite = opposite
        self._direction = direction
        self._flushing = False
        """True while a call of `flush` is yet to come."""
        self._sent_at: int | None = None
        """The latest `sent_at` of the session for which a call of `flush` was requested."""
        self._wake_at: int | None = None
        self._undelivered: list[Callable[[], None]] = []
        """Arrivals of frames that were sent while the direction was cut."""

    def flush_soon(self) -> None:
        """Sends what may travel, with all that the present call puts into the queue."""
        if not self._flushing:
            self._flushing = True
            self._end.events.soon(self.flush)

    def flush(self) -> None:
        end = self._end
        if end.open is not self:
            return
        if end.process.held is not None:
            end.process.held.append(self.flush)
            return
        session, events = end.session, end.events
        for frame in session.next_frames(events.now):
            self._send(frame)
        self._flushing = session.write_at > events.now
        if self._flushing:
            events.at(session.write_at, self.flush)
        if session.sent_at != self._sent_at:
            self._sent_at = session.sent_at
            if self._sent_at is not None:
                events.at(self._sent_at, self.flush)

    def _send(self, frame: LinkFrame) -> None:
        opposite, direction, events = self._opposite, self._direction, self._end.events
        assert isinstance(frame, MessageFrame)
        if direction.up:
            latency = self._end.process.latency()
            arrival = direction.arrival(events.now, frame_size(frame), latency)
            if direction.repetitions or direction.late:
                direction.keep(events, arrival, latency, partial(opposite.receive, self.opposite_number, frame))
            else:
                events.at(arrival, partial(opposite.receive, self.opposite_number, frame, direction.left_at))
        else:
            self._undelivered.append(partial(opposite.receive, self.opposite_number, frame))

    def release(self) -> None:
        """The direction from here works again after it was cut: frames that were sent meanwhile arrive at once, or
        behind those that were sent before the cut and are still in flight."""
        undelivered, self._undelivered = self._undelivered, []
        for arrive in undelivered:
            self._direction.follow(self._end.events, arrive)

    def handle(self, messages: Sequence[Message]) -> None:
        end = self._end
        if end.session.handle(self.number, messages, end.events.now):
            self._attend()

    def wake(self) -> None:
        """Has the session do what is due."""
        end = self._end
        if end.open is not self:
            return
        if end.process.held is not None:
            end.process.held.append(self.wake)
            return
        end.session.wake(end.events.now)
        self._attend()

    def _attend(self) -> None:
        """Sends a frame that is due, and has `wake` called when the session asks for it."""
        session = self._end.session
        if session.frame_due and not self._flushing:
            self.flush()
        at = session.wake_at
        if at != self._wake_at:
            self._wake_at = at
            if at is not None:
                self._end.events.background(at, self.wake)


class LinkEnd:
    """One end of a simulated link."""

    def __init__(
        self,
        process: BrokerProcess,
        neighbours: Neighbours,
        link: OverlayLink,
        events: EventQueue,
        *,
        demand: Callable[[], None] = do_nothing,
    ) -> None:
        """`demand` has a stream opened, when a message waits at a link that has none."""
        self.process = process
        self.events = events
        self.link = link
        self.open: OpenStream | None = None
        """The stream that is open at this end."""
        self._neighbours = neighbours
        self._demand = demand
        self.session = neighbours.session_of(link, heartbeat=None)
        link.on_waiting = self._want_stream

    @property
    def stream(self) -> int:
        """The session's number of the stream that is open at this end; 0 for none."""
        return 0 if self.open is None else self.open.number

    @property
    def dialling(self) -> bool:
        """True while a stream was dialled and its answer is yet to come."""
        return self.session.state is State.DIALLING

    # Streams

    def dial(self) -> tuple[int, Hello]:
        """Opens a stream from here, in place of a former one. Returns its number and this end's hello."""
        self._leave()
        return self.session.dial(self.events.now), self._hello()

    def accept(self, hello: Hello, opposite: LinkEnd, number: int, direction: Direction) -> tuple[int, Hello]:
        """Opens the stream that the other end dialled under its `number`. Returns the own number and the answer."""
        self._leave()
        stream = self.session.accept(hello, self.events.now)
        answer = self._hello()
        self._join(stream, opposite, number, direction)
        return stream, answer

    def answered(self, stream: int, hello: Hello, opposite: LinkEnd, number: int, direction: Direction) -> None:
        """The answer to `dial` has come: the stream is open."""
        self.session.received(stream, hello, self.events.now)
        self._join(stream, opposite, number, direction)
        if direction.up:
            beat = MessageFrame((), self.link.received, Probe(self.events.now))
            arrival = self.events.now + round(direction.delay * SECOND)
            self.events.background(arrival, partial(opposite.receive_beat, number, beat))

    def give_up(self, stream: int) -> None:
        """The stream that was dialled was not answered."""
        self.session.closed(stream)

    def close(self) -> None:
        """The stream has ended. The broker is notified if it still runs."""
        stream = self.stream
        if stream:
            self._leave()
            if self.process.alive:
                self.session.closed(stream)

    def close_stream(self, stream: int) -> None:
        """Closes this very stream, if it is the one that is open here."""
        if not self.process.hold(partial(self.close_stream, stream)) and self.stream == stream:
            self.close()

    # Rest, for links on demand

    @property
    def wants_stream(self) -> bool:
        """True when a message waits, or the router takes the link for down."""
        return not self.link.up or not self.link.idle

    def rest(self) -> None:
        """The stream of an idle link is closed; the broker is not notified."""
        self._leave()
        self.session.rest()

    def unreachable(self) -> None:
        """No stream can be opened. The broker is notified if it takes the link for up."""
        if self.link.up and not self.link.connected:
            self._neighbours.link_down(self.link.neighbour)

    def _want_stream(self) -> None:
        """Asks for a stream when the first message waits, unless the neighbour is known to be out of reach."""
        if self.link.up and self.link.queue_length == 1:
            self._demand()

    def _hello(self) -> Hello:
        (hello,) = self.session.next_frames(self.events.now)
        assert isinstance(hello, Hello)
        return hello

    def _join(self, stream: int, opposite: LinkEnd, number: int, direction: Direction) -> None:
        self.open = opened = OpenStream(self, stream, opposite, number, direction)
        self.link.on_waiting = opened.flush_soon
        opened.flush_soon()

    def _leave(self) -> None:
        self.open = None
        self.link.on_waiting = self._want_stream

    # Frames that come in

    def receive(self, stream: int, frame: MessageFrame, arrived: int | None = None) -> None:
        """Receives a frame that left the link at `arrived`; None: now."""
        if self.process.held is not None:  # checked first, because the answer that opens the stream may be held, too
            at = self.events.now if arrived is None else arrived
            self.process.held.append(partial(self.receive, stream, frame, at))
            return
        opened = self.open
        if opened is None or opened.number != stream:
            return
        messages = self.session.received(stream, frame, self.events.now, arrived)
        if messages:
            self.process.server.submit(opened.handle, messages)
        if self.session.unblocked:
            opened.flush_soon()

    def receive_beat(self, stream: int, beat: MessageFrame) -> None:
        """Receives the modelled heartbeat, unless jitter had a later frame overtake it: it would be out of order."""
        held = self.process.hold(partial(self.receive_beat, stream, beat))
        if not held and self.link.retransmission.acknowledged <= beat.acknowledged:
            self.receive(stream, beat)


def frame_size(frame: LinkFrame) -> int:
    """Bytes of a frame. One that is too large for its receiver, which real brokers divide, counts as a whole.

    The rules are those of protocol buffers: a field with its default value takes no byte; any other takes one for its
    number, those of a varint for its value or length, and its content. A call for each field would take as long as all
    else that a simulated link does with a frame.
    """
    if isinstance(frame, Hello):
        size = _hello_size(frame)
        return HEADERS + 1 + _varint_size(size) + size
    total = HEADERS
    for message in frame.messages:
        size = _KIND_BYTES
        if id := message.id:
            length = len(id) if id.isascii() else len(id.encode())
            size += length + (2 if length < 0x80 else 1 + _varint_size(length))
        if length := len(message.body):
            size += length + (2 if length < 0x80 else 3 if length < 0x4000 else 1 + _varint_size(length))
        if length := len(message.header):
            size += length + (2 if length < 0x80 else 3 if length < 0x4000 else 1 + _varint_size(length))
        if hops := message.hops:
            size += 2 if hops < 0x80 else 1 + _varint_size(hops)
        if message.published:
            size += CLOCK_BYTES
        if label := message.label:
            length = len(label) if label.isascii() else len(label.encode())
            size += length + (2 if length < 0x80 else 1 + _varint_size(length))
        total += size + (2 if size < 0x80 else 3 if size < 0x4000 else 1 + _varint_size(size))
    if acknowledged := frame.acknowledged:
        total += 2 if acknowledged < 0x80 else 3 if acknowledged < 0x4000 else 1 + _varint_size(acknowledged)
    if frame.probe is not None:
        total += 2 + CLOCK_BYTES + (0 if frame.probe.echo is None else CLOCK_BYTES)
    return total


def _hello_size(hello: Hello) -> int:
    numbers = hello.incarnation, hello.neighbour_incarnation, hello.handled, hello.appearance
    return _text_size(hello.broker) + _text_size(hello.protocol) + sum(map(_number_size, numbers))


def _text_size(text: str) -> int:
    """Bytes of a field with this text."""
    length = len(text.encode())
    return 1 + _varint_size(length) + length if length else 0


def _number_size(number: int) -> int:
    """Bytes of a field with this number."""
    if number < 0x80:
        return 2 if number else 0
    return 1 + _varint_size(number)


def _varint_size(number: int) -> int:
    return 1 if number < 0x80 else (number.bit_length() + 6) // 7
