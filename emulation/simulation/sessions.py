"""Simulated client sessions: `broker_service.client_library.client_session` in virtual time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from broker_service.client_library.client_requests import ClientRequests, SessionLimits
from broker_service.core.session import Session
from broker_service.links.backoff import BackOff
from broker_service.messages import BrokerFrame, ClientEvent, ClientId, ClientRequest, Operation
from emulation.simulation.brokers import SimulatedBroker
from emulation.simulation.event_queue import EventQueue
from record.callbacks import do_nothing
from record.time_units import SECOND


class SimulatedSession:
    """One session of many logical clients with one broker. It outlives the broker, as a real one does.

    Requests and events keep their order; `submit` and `notify` draw the time that a frame takes to the broker and back,
    in nanoseconds.
    """

    def __init__(
        self,
        address: str,
        events: EventQueue,
        on_event: Callable[[ClientEvent], None],
        submit: Callable[[], int],
        notify: Callable[[], int],
        *,
        name: str = "",
        limits: SessionLimits | None = None,
        on_acknowledged: Callable[[ClientRequest], None] = do_nothing,
    ) -> None:
        """`name` tells sessions of one broker apart. The callbacks are those of `ClientRequests`."""
        self.on_up: Callable[[], None] = do_nothing
        """Called whenever a stream has been opened."""
        self.on_down: Callable[[], None] = do_nothing
        """Called whenever a stream has ended."""
        self.connections = 0
        """Streams opened so far."""
        self._events = events
        self._submit_latency = submit
        self._notify_latency = notify
        self._limits = limits or SessionLimits()
        self._requests = ClientRequests(address, on_event, self._limits, on_acknowledged)
        self._down_since = events.now
        """The time of the stream's end, or of the session's beginning, from which attempts to open one are counted."""
        self.name = name
        """The client's name for it, under which it takes the place of an earlier one at a broker."""
        self._held = 0
        """Requests that the broker holds back."""
        self._broker: SimulatedBroker | None = None
        self._session: Session | None = None
        self._sending = False
        self._writing = False
        """True while a call of `_write` is yet to come."""
        self._wake_at: int | None = None
        self._arrival = 0
        self._return = 0

    @property
    def up(self) -> bool:
        return self._broker is not None

    @property
    def incarnation_ended(self) -> bool:
        """True while the session has a stream to a broker that has ended, which it does not know yet."""
        return self._broker is not None and not self._broker.alive

    def submit(
        self, client: ClientId, operation: Operation, id: str = "", body: bytes = b"", published: int = 0
    ) -> int:
        """Hands an operation over; its answer carries the number returned. Raises as `ClientRequests.submit`."""
        number = self._requests.submit(client, operation, id, body, published)
        self._send()
        return number

    def connect(self, broker: SimulatedBroker) -> None:
        """Opens a stream to this incarnation of its broker, and submits again whatever was in force."""
        self.connections += 1
        self._requests.begin(broker.core.welcome)
        self._broker = broker
        self._sending = self._writing = False
        self._wake_at = None
        self._session = broker.core.sessions.open()
        broker.core.sessions.name(self._session, self.name)
        self._session.on_waiting = self._wake
        self._session.on_released = partial(self._events.soon, partial(self._resume, broker, self._session))
        self.on_up()
        self._send()

    def lose(self) -> None:
        """Ends the stream, because the broker has ended."""
        if self._broker is not None:
            self._broker = self._session = None
            self._down_since = self._events.now
            self._count_held(0)
            self.on_down()

    def next_attempt(self) -> int:
        """The time, from now on, at which the session tries to open a stream, with the back-off of a real one.

        Attempts at a broker that is down fail at once, so they are not simulated.
        """
        back_off = BackOff(self._limits.reconnect_first, self._limits.reconnect_last)
        attempt = self._down_since + round(back_off.take() * SECOND)
        while attempt < self._events.now:
            attempt += round(back_off.take() * SECOND)
        return attempt

    def close(self) -> None:
        """Ends the stream from the client's end: the broker withdraws its clients' advertisements and subscriptions.

        Requests that are on their way come before that.
        """
        broker, session = self._broker, self._session
        self._broker = self._session = None
        if broker is not None and session is not None:
            session.on_waiting = do_nothing
            self._down_since = self._events.now
            self._count_held(0)
            self.on_down()
            self._arrival = max(self._arrival, self._closing_at())
            self._events.at(self._arrival, partial(end_at_broker, broker, session))

    def _closing_at(self) -> int:
        """The time at which the broker knows that the client has ended the stream now."""
        return self._events.now + self._submit_latency()

    # To the broker

    def _send(self) -> None:
        if self._session is not None and not self._sending:
            self._sending = True
            self._events.soon(partial(self._flush, self._session))

    def _flush(self, session: Session) -> None:
        """Sends all requests that were submitted at this moment, in frames."""
        if session is not self._session or self._broker is None:
            return
        self._sending = False
        events = self._events
        while requests := self._requests.take():
            self._arrival = arrival = max(self._arrival, events.now + self._submit_latency())
            events.at(arrival, partial(self._submit, self._broker, session, requests))
            if len(requests) < self._limits.batch:
                break

    def _submit(self, broker: SimulatedBroker, session: Session, requests: Sequence[ClientRequest]) -> None:
        if broker.held is not None:
            broker.held.append(partial(self._submit, broker, session, requests))
        elif broker.alive and not broker.stopping:
            broker.server.submit(partial(self._handle, broker, session), requests)

    def _handle(self, broker: SimulatedBroker, session: Session, requests: Sequence[ClientRequest]) -> None:
        broker.core.sessions.handle(session, requests)
        if session.held or self._held or session.wake_at != self._wake_at:
            self._after_handling(session)

    def _resume(self, broker: SimulatedBroker, session: Session) -> None:
        if broker.held is not None:
            broker.held.append(partial(self._resume, broker, session))
        elif broker.alive:
            broker.core.sessions.resume(session)
            self._after_handling(session)

    def _after_handling(self, session: Session) -> None:
        if (session.held or self._held) and session is self._session:
            self._count_held(len(session.held))
        if session.wake_at != self._wake_at:
            self._wake_at = session.wake_at
            if self._wake_at is not None:
                self._events.background(self._wake_at, partial(self._wake_session, session))

    def _count_held(self, held: int) -> None:
        self._events.pending += held - self._held
        self._held = held

    # From the broker

    def _wake(self) -> None:
        """Has frames written with all that the present call puts into the queue."""
        if not self._writing and self._session is not None:
            self._writing = True
            self._events.soon(partial(self._write, self._session))

    def _write(self, session: Session) -> None:
        """Sends all frames that are due."""
        broker = self._broker
        if session is not self._session or broker is None:
            return
        if broker.held is not None:
            broker.held.append(partial(self._write, session))
            return
        limits, events = broker.config.limits, self._events
        self._writing = False
        for frame in session.next_frames(limits.batch, limits.message_bytes):
            self._return = max(self._return, events.now + self._notify_latency())
            events.at(self._return, partial(self._receive, session, frame))

    def _receive(self, session: Session, frame: BrokerFrame) -> None:
        if session is self._session:
            self._requests.receive(frame)
            if frame.acknowledged and self._requests.waiting:
                self._send()

    def _wake_session(self, session: Session) -> None:
        broker = self._broker
        if session is not self._session or broker is None:
            return
        if broker.held is not None:
            broker.held.append(partial(self._wake_session, session))
        else:
            session.wake(self._events.now)
            self._after_handling(session)


def end_at_broker(broker: SimulatedBroker | None, session: Session | None) -> None:
    """Has a broker end a session whose client is gone: once it continues, if it is frozen, and never, if it has ended
    itself. Nothing happens without a session."""
    if broker is None or session is None or broker.hold(partial(end_at_broker, broker, session)):
        return
    if broker.alive:
        session.on_waiting = do_nothing
        broker.core.sessions.close(session)
