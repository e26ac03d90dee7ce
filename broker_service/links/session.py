"""One end of an overlay link as a state machine without I/O: hello, resumption, acknowledgement, heartbeats, back-off.

A session lasts as long as its broker's incarnation and outlives any number of streams. The states and transitions
stand in `states`. The driver (the gRPC server in real time, the simulator in virtual time) moves frames, passes
the time in nanoseconds and calls `wake` at the time `wake_at`; everything else is decided here. The rules:

1. Each stream has a number. A frame, or messages that wait for service, of a stream that is no longer the present one
   are ignored: the neighbour sends on the next stream whatever this end did not handle on the former.
2. Both ends begin with a hello, which the other one may refuse (`greeting`).
3. Acknowledgements ride on whatever travels the other way. They travel alone when a quarter of the window waits for
   one, or `ACKNOWLEDGE_AFTER` seconds after the first message that does.
4. With heartbeats, an open link sends a frame at every beat, whatever else it sent before. If only silent links did,
   two frames could be nearly two beats apart, and three silent beats would not distinguish a failed neighbour from a
   quiet one. A neighbour from which nothing came for `MISSED_HEARTBEATS` beats has failed. One that does not answer a
   hello within that time has failed, too.
5. Writes are paced (`Pace`); whatever is put into the queue meanwhile travels with the next one. On a link on which
   sending takes time (`sending`), each message is written when its sending ends instead; frames without messages are
   written at once.
6. Hellos and beats carry probes of the round trip (`round_trip`).
7. After a stream has ended, the dialling end tries again with back-off (`backoff`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from broker_service.config import Limits
from broker_service.links.backoff import BackOff
from broker_service.links.frames import Arrivals, Hello, LinkFrame, MessageFrame
from broker_service.links.greeting import Greeting, GreetingBroker
from broker_service.links.overlay_link import OverlayLink
from broker_service.links.round_trip import RoundTrip
from broker_service.links.states import Input, State, transition
from broker_service.messages import BrokerId, Message
from record.time_units import SECOND

ACKNOWLEDGE_AFTER = 0.1
"""Seconds that a neighbour waits at most for an acknowledgement."""

MISSED_HEARTBEATS = 3
"""Beats in a row without a frame, after which a neighbour has failed."""

FRAME_INTERVAL: Final = 0.002
"""Seconds between writes on a busy stream."""

BURST: Final = 16.0
"""Writes that an idle stream may make without regard to the interval."""

_OPEN: Final = State.OPEN  # looked up once: a member of an enumeration takes 0.1 us in Python 3.11
_ACKNOWLEDGE_AFTER: Final = round(ACKNOWLEDGE_AFTER * SECOND)


class LinkViolationError(Exception):
    """The neighbour sent a frame that the rules of a link do not allow at this point."""


class SilentNeighbourError(Exception):
    """Nothing came from the neighbour for too long."""


class LinkUser(GreetingBroker, Protocol):
    """The broker core, as a session calls it."""

    def link_up(self, neighbour: BrokerId, incarnation: int, handled: int) -> None: ...

    def link_down(self, neighbour: BrokerId) -> None: ...

    def receive(self, neighbour: BrokerId, messages: Sequence[Message], arrived: int | None) -> None: ...


class Pace:
    """Credit for writes of frames, because a frame costs far more than a message in it.

    It grows by one write in `FRAME_INTERVAL`, up to `BURST`. A stream writes at once as long as it has credit, which a
    lasting rate of more than one write in that interval uses up. From then on, messages that come within an interval
    travel together. An idle or moderately used stream has no delay, a busy one has large frames. Times are nanoseconds.
    """

    __slots__ = ("_credit", "_earned")

    def __init__(self, now: int) -> None:
        self._credit = BURST
        self._earned = now / SECOND

    def take(self, now: int) -> int:
        """Pays for a write at `now`; returns the time from which the next one is allowed."""
        seconds = now / SECOND
        credit = self._credit + (seconds - self._earned) / FRAME_INTERVAL
        self._credit = credit = (credit if credit < BURST else BURST) - 1.0
        self._earned = seconds
        return now if credit >= 0.0 else now + round(-credit * FRAME_INTERVAL * SECOND)


class LinkSession:
    """One end of a link's streams, one stream at a time. All times are nanoseconds of one clock that never runs
    backwards."""

    def __init__(
        self,
        broker: LinkUser,
        link: OverlayLink,
        protocol: str,
        limits: Limits,
        heartbeat: float | None,
        *,
        first_beat: float = 1.0,
        latest: int | None = None,
    ) -> None:
        """`heartbeat` is in seconds; None where the driver itself finds out that a neighbour is silent. `first_beat` is
        the share of it after which an open link's first beat comes, so that many links need not beat together. `latest`
        is the largest incarnation that the neighbour can have; None where it is not known."""
        self.link = link
        self.state = State.CLOSED
        self.stream = 0
        """The number of the present stream; 0 while there is none."""
        self.frame_due = False
        """True when a frame shall be written even if no message waits."""
        self.write_at = 0
        """The time from which the next write is allowed."""
        self.sent_at: int | None = None
        """The time at which the message that is being sent leaves, so that `next_frames` has to be called; None while
        none is."""
        self.wake_at: int | None = None
        """The time of the next call of `wake`: a late acknowledgement, a heartbeat, or a hello that is not answered."""
        self.unhandled = 0
        """Messages of the present stream that came in and wait for service."""
        self.unblocked = False
        """True when the latest frame opened the stream or acknowledged messages, and one that waits may travel now."""
        self._arrivals = Arrivals()
        """Arrivals of the present stream's messages that wait for service."""
        self._broker = broker
        self._hellos = Greeting(broker, link, protocol, latest)
        self._round_trip = RoundTrip(link)
        self._heartbeat = None if heartbeat is None else round(heartbeat * SECOND)
        self._first_beat = 0 if heartbeat is None else round(first_beat * heartbeat * SECOND)
        self._batch = limits.batch
        self._acknowledge_every = max(1, limits.window // 4)
        self._acknowledged = 0
        """Messages that the last frame acknowledged."""
        self._acknowledge_at: int | None = None
        self._beat_at: int | None = None
        self._silent_beats = 0
        self._streams = 0
        self._neighbour_hello: Hello | None = None
        """Hello of the neighbour on a stream that is yet to be answered."""
        self._back_off = BackOff(limits.reconnect_first, limits.reconnect_last)
        self._pace = Pace(0)

    @property
    def neighbour(self) -> BrokerId:
        return self.link.neighbour

    # Streams

    def dial(self, now: int) -> int:
        """A stream is opened from here. Returns its number; `next_frames` gives the hello."""
        return self._begin(Input.DIAL, now)

    def accept(self, hello: Hello, now: int) -> int:
        """The neighbour opened a stream with this hello. Returns the stream's number; `next_frames` gives the answer.

        A former stream ends, because the neighbour gave it up. Raises `RefusedError`; nothing is changed then.
        """
        self._hellos.check(hello)
        stream = self._begin(Input.ACCEPT, now)
        self._neighbour_hello = hello
        return stream

    def closed(self, stream: int) -> None:
        """A stream has ended. Nothing happens where it was not the present one."""
        if stream == self.stream and self.state is not State.CLOSED:
            self._change(Input.END)
            self.stream = 0

    def rest(self) -> None:
        """Closes the open stream of an idle link, of which the router is not notified. The counters remain."""
        self._change(Input.REST)
        self.stream = 0

    def redial_after(self) -> float:
        """Seconds to wait before the next stream is dialled."""
        return self._back_off.take()

    # Frames

    def received(self, stream: int, frame: LinkFrame, now: int, arrived: int | None = None) -> Sequence[Message]:
        """A frame came in. Returns the messages to be served; `handle` takes them when their turn has come.

        `arrived` is the time at which the frame had left the link, for the log; None: now.
        Raises `RefusedError` for a hello that cannot be answered and `LinkViolationError` for a frame that is wrong
        here; the driver then ends the stream.
        """
        if stream != self.stream:
            return ()
        self._silent_beats = 0
        if self.state is not _OPEN or isinstance(frame, Hello):
            self._greeted(frame, now)
            self.unblocked = self.link.sendable
            return ()
        retransmission = self.link.retransmission
        self.unblocked = False
        if frame.acknowledged != retransmission.acknowledged:
            try:
                retransmission.acknowledge(frame.acknowledged)
            except ValueError as error:
                raise LinkViolationError(str(error)) from None
            self.unblocked = self.link.sendable
        if frame.probe is not None:
            self._round_trip.measure(frame.probe, now)
        messages = frame.messages
        if messages:
            self.unhandled += len(messages)
            self._arrivals.frames.append((now if arrived is None else arrived, len(messages)))
        return messages

    def handle(self, stream: int, messages: Sequence[Message], now: int) -> bool:
        """Has the broker handle messages that came in on a stream; does nothing if that has ended since.

        Returns whether an acknowledgement is due now or at a time that was not known before, so that the driver has to
        look at `frame_due` and `wake_at`.
        """
        if stream != self.stream:
            return False
        link = self.link
        self.unhandled -= len(messages)
        frames = self._arrivals.frames
        if frames and frames[0][1] == len(messages):  # as nearly always
            self._broker.receive(link.neighbour, messages, frames.pop(0)[0])
        else:
            for arrived, part in self._arrivals.parts(messages):
                self._broker.receive(link.neighbour, part, arrived)
        if link.received - self._acknowledged >= self._acknowledge_every:
            self.frame_due = True
            return True
        if self._acknowledge_at is None:
            self._acknowledge_at = at = now + _ACKNOWLEDGE_AFTER
            if self.wake_at is None or at < self.wake_at:
                self.wake_at = at
            return True
        return False

    def next_frames(self, now: int) -> Sequence[LinkFrame]:
        """All frames that may be written now; the present stream takes them."""
        if self.state is not _OPEN:
            return self._greeting(now)
        link = self.link
        sending = link.sending
        if now < self.write_at:
            return ()
        if sending is None:
            messages = link.take()
        else:
            messages = sending.advance(now)
            self.sent_at = sending.due_at
            if sending.over:
                link.sending = None
        if not (messages or self.frame_due):
            return ()
        self.frame_due = False
        self._acknowledged = received = link.received
        trip = self._round_trip
        frames = [MessageFrame(messages, received, trip.probe(now) if trip.due else None)]
        if sending is None:
            while len(messages) == self._batch and (messages := link.take()):
                frames.append(MessageFrame(messages, received))
            self.write_at = self._pace.take(now)
        return frames

    # Time

    def wake(self, now: int) -> None:
        """Does what is due. Raises `SilentNeighbourError`; the driver then ends the stream."""
        if self._acknowledge_at is not None and now >= self._acknowledge_at:
            self._acknowledge_at = None
            if self.link.received != self._acknowledged:
                self.frame_due = True
        if self._beat_at is not None and now >= self._beat_at:
            self._beat(now)
        self._set_wake_at()

    def _set_wake_at(self) -> None:
        acknowledge, beat = self._acknowledge_at, self._beat_at
        if beat is None:
            self.wake_at = acknowledge
        else:
            self.wake_at = beat if acknowledge is None else min(acknowledge, beat)

    def _beat(self, now: int) -> None:
        assert self._heartbeat is not None
        if self.state is not State.OPEN:
            raise SilentNeighbourError(f"{self.neighbour} does not answer")
        self._beat_at = now + self._heartbeat
        self._silent_beats += 1
        if self._silent_beats >= MISSED_HEARTBEATS:
            raise SilentNeighbourError(f"{self.neighbour} is silent, {MISSED_HEARTBEATS} heartbeats were missed")
        self.frame_due = self._round_trip.due = True

    # Inside

    def _begin(self, input: Input, now: int) -> int:
        self._change(input)
        self._streams += 1
        self.stream = self._streams
        self._neighbour_hello = None
        self._round_trip.begin()
        self.frame_due = True
        if self._heartbeat is not None:
            self._beat_at = now + MISSED_HEARTBEATS * self._heartbeat
        self._set_wake_at()
        return self.stream

    def _change(self, input: Input) -> None:
        """Leaves the present stream; what was not acknowledged on it travels again on the next."""
        former, self.state = self.state, transition(self.state, input)
        self._acknowledge_at = self._beat_at = self.wake_at = self.sent_at = None
        if self.link.sending is not None:
            self.link.sending.abandon()
        self.frame_due = False
        self.unhandled = 0
        self._arrivals.frames.clear()
        if input is Input.REST:
            self.link.rest()
        elif former is State.OPEN:
            self._broker.link_down(self.neighbour)

    def _greeted(self, frame: LinkFrame, now: int) -> None:
        if not isinstance(frame, Hello):
            raise LinkViolationError("the first frame of a link is no hello")
        if self.state is not State.DIALLING:
            raise LinkViolationError("a hello amid a stream")
        self._hellos.check(frame)
        self._round_trip.hello_answered(now)
        self._open(frame, Input.GREETED, now)
        if self._heartbeat is not None:
            self.frame_due = self._round_trip.due = True

    def _greeting(self, now: int) -> Sequence[LinkFrame]:
        if not self.frame_due or self.state is State.CLOSED:
            return ()
        self.frame_due = False
        hello = self._hellos.hello()
        self._round_trip.hello_written(now)
        if self._neighbour_hello is not None:
            self._open(self._neighbour_hello, Input.ANSWERED, now)
        return (hello,)

    def _open(self, hello: Hello, input: Input, now: int) -> None:
        self.state = transition(self.state, input)
        self._pace = Pace(now)
        self.write_at = now
        self._silent_beats = 0
        self._back_off.reset()
        if self._heartbeat is not None:
            self._beat_at = now + self._first_beat
        self._set_wake_at()
        self._broker.link_up(self.neighbour, hello.incarnation, self._hellos.handled(hello))
        self._acknowledged = self.link.received
