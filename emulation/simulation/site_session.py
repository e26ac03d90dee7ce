"""Simulated sessions of clients on sites: `emulation.simulation.sessions`, whose frames cross an access link."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial

from broker_service.client_library.client_requests import SessionLimits
from broker_service.core.session import Session
from broker_service.messages import BrokerFrame, ClientEvent, ClientRequest
from emulation.simulation.access import AccessPaths
from emulation.simulation.brokers import SimulatedBroker
from emulation.simulation.event_queue import EventQueue
from emulation.simulation.sessions import SimulatedSession, end_at_broker
from record.callbacks import do_nothing


class SiteSession(SimulatedSession):
    """The session of one client over its site's access link."""

    def __init__(
        self,
        address: str,
        events: EventQueue,
        on_event: Callable[[ClientEvent], None],
        paths: AccessPaths,
        *,
        name: str,
        limits: SessionLimits,
        on_acknowledged: Callable[[ClientRequest], None] = do_nothing,
    ) -> None:
        super().__init__(address, events, on_event, int, int, name=name, limits=limits, on_acknowledged=on_acknowledged)
        self.came: int | None = None
        """The time at which the latest events came over the access link."""
        self._frozen: list[Callable[[], None]] | None = None
        """Calls that the client makes once it continues; None while it is not frozen."""
        self.runs = True
        """False while the client does not run."""
        self.left = False
        """True once the client has another session in its place: nobody opens this one any more."""
        self._paths = paths
        self._unsent: deque[BrokerFrame] = deque()
        """Frames that the broker has made and that wait for the link."""

    def connect(self, broker: SimulatedBroker) -> None:
        self._unsent.clear()
        super().connect(broker)

    def freeze(self) -> None:
        """The client does nothing from now on. Its connection stays open, and its kernel answers."""
        self._frozen = []

    def thaw(self) -> None:
        """Lets the client continue."""
        held, self._frozen = self._frozen or [], None
        for call in held:
            self._events.soon(call)

    def succeed(self, former: SiteSession) -> None:
        """Takes over what a former session leaves, and the state of its client."""
        former.left = True
        self._requests.succeed(former._requests)
        self.runs = former.runs
        if former._frozen is not None:
            self.freeze()

    def expire(self) -> None:
        """Both ends give the stream up, because neither has heard from the other for too long."""
        end_at_broker = self.lost_at_broker()
        self.lose()
        end_at_broker()

    def crash(self) -> None:
        """The client ends, and its kernel resets the connection, if it has one. What waits in the client is lost."""
        self.runs = False
        self._requests.forget_publications()
        self.close()

    def vanish(self) -> Callable[[], None]:
        """The client ends, and nobody tells the broker. What waits in the client is lost. Returns a call that ends the
        session at the broker."""
        self.runs = False
        self._requests.forget_publications()
        end_at_broker = self.lost_at_broker()
        self.lose()
        return end_at_broker

    def lost_at_broker(self) -> Callable[[], None]:
        """A call that ends the present stream at the broker, which has found out that the client is gone."""
        return partial(end_at_broker, self._broker, self._session)

    def _closing_at(self) -> int:
        return self._paths.to_broker.end_at(self._events.now)

    def _flush(self, session: Session) -> None:
        """Sends the requests that were submitted, in frames, as far as the link takes them."""
        if session is not self._session or self._broker is None:
            return
        events, path = self._events, self._paths.to_broker
        if self._frozen is not None:
            self._frozen.append(partial(self._flush, session))
            return
        if path.cut:
            path.when_restored(partial(self._flush, session))
            return
        self._sending = False
        while self._requests.waiting:
            if (open_at := path.open_at(events.now)) > events.now:
                self._sending = True
                events.at(open_at, partial(self._flush, session))
                return
            if not (requests := self._requests.take()):
                return
            path.carry_requests(events, requests, partial(self._bring, self._broker, session, requests))

    def _bring(self, broker: SimulatedBroker, session: Session, requests: Sequence[ClientRequest], came: int) -> None:
        if broker.held is not None:
            broker.held.append(partial(self._bring, broker, session, requests, came))
        elif broker.alive and not broker.stopping:
            broker.server.submit(partial(self._handle_late, broker, session, came), requests)

    def _handle_late(
        self, broker: SimulatedBroker, session: Session, came: int, requests: Sequence[ClientRequest]
    ) -> None:
        session.came = came
        self._handle(broker, session, requests)

    def _write(self, session: Session) -> None:
        """Sends the frames that are due, as far as the link takes them."""
        broker = self._broker
        if session is not self._session or broker is None:
            return
        if broker.held is not None:
            broker.held.append(partial(self._write, session))
            return
        limits, events, path, unsent = broker.config.limits, self._events, self._paths.to_client, self._unsent
        if path.cut:
            self._writing = True
            path.when_restored(partial(self._write, session))
            return
        self._writing = taken = False
        while unsent or not taken:
            if not unsent:
                taken = True
                unsent.extend(session.next_frames(limits.batch, limits.message_bytes))
            elif (open_at := path.open_at(events.now)) > events.now:
                if not self._writing:
                    self._writing = True
                    events.at(open_at, partial(self._write, session))
                return
            else:
                self._carry(session, unsent.popleft())

    def _carry(self, session: Session, frame: BrokerFrame) -> None:
        """Sends a frame over the link, at the other end of which it is read at once."""
        self._paths.to_client.carry_frame(self._events, frame, partial(self._take, session, frame))

    def _take(self, session: Session, frame: BrokerFrame, came: int) -> None:
        if self._frozen is not None:
            self._frozen.append(partial(self._take, session, frame, came))
            return
        self.came = came
        self._receive(session, frame)
