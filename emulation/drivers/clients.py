"""Logical clients: operations, the brokers' answers, and the log of both.

Without I/O, and in whatever time the recorder keeps: a driver process acts for clients in real time, the simulator in
virtual time.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol

from broker_service.client_library.client_requests import SessionFullError, TooLargeError
from broker_service.messages import UNSTATED_HOPS, ClientEvent, ClientId, ClientRequest, Kind, Operation, Outcome
from broker_service.tracing.trace import Recorder
from emulation.drivers.driver_operations import EVENTS, REQUESTS, ReadyOperation
from emulation.drivers.status import ClientCounts
from record.callbacks import do_nothing
from record.log import Event
from scenario.workload.operations import OperationKind

# Looked up once: in Python 3.11 an enumeration's member takes 0.1 us, and these are on every message's way.
_PUBLISH: Final = OperationKind.PUBLISH
_NOTIFIED: Final = Outcome.NOTIFIED
_NOTIFICATION: Final = Event.NOTIFIED
_SUBSCRIBE_WORD: Final = OperationKind.SUBSCRIBE.value
_DETECTION_WORD: Final = Kind.DETECTION.word


def _not_known() -> None:
    return None


class Session(Protocol):
    """Hands operations of many clients to one broker."""

    def submit(
        self, client: ClientId, operation: Operation, id: str = "", body: bytes = b"", published: int = 0
    ) -> int:
        """Hands an operation over and returns its number, as `ClientRequests.submit` of the client library does."""


class Connected(Protocol):
    """A session that tells when a stream of it opens and ends."""

    on_up: Callable[[], None]
    on_down: Callable[[], None]


@dataclass(frozen=True, slots=True)
class SessionEnd:
    """The end of a session at its clients."""

    broker: str
    client: str | None = None
    """The client that has the session alone, because it is at a site; None for clients beside their broker."""

    @property
    def key(self) -> str:
        """The name by which a node knows the session."""
        return self.broker if self.client is None else f"{self.broker} {self.client}"

    def log_streams(self, session: Connected, recorder: Recorder) -> None:
        """Has streams of the session logged from now on, when they open and when they end."""
        session.on_up = partial(recorder.note, Event.LINK_UP, peer=self.broker, client=self.client)
        session.on_down = partial(recorder.note, Event.LINK_DOWN, peer=self.broker, client=self.client)


class ClientDownError(Exception):
    """A client that does not run cannot publish."""


class UnknownBrokerError(Exception):
    """An operation names a broker that the clients have no session with."""


class Clients:
    """The clients of one node. `sessions` are those with their brokers; their events are to come to `receiver`."""

    def __init__(
        self,
        sessions: Mapping[str, Session],
        recorder: Recorder,
        counts: ClientCounts,
        *,
        keeps_accepted: bool,
        at_sites: Container[str] = (),
    ) -> None:
        """`sessions` are by `SessionEnd.key`; clients `at_sites` have sessions of their own.

        `keeps_accepted` is true of a routing that promises to lose no publication which a broker has acknowledged.
        Acknowledgements are logged for it alone, because no other verdict depends on them.
        """
        self.clock_offset = 0
        """Nanoseconds to add to the recorder's clock to get the run's."""
        self.away: set[str] = set()
        """Clients that do not run. What they would publish is rejected; what they would declare waits for their
        return."""
        self._sessions = sessions
        self._at_sites = at_sites
        self._keeps_accepted = keeps_accepted
        self._recorder = recorder
        self._counts = counts
        self._moved: dict[str, str] = {}
        """The brokers of clients that have moved."""
        self._attached: set[str] = set()
        self._asked: dict[tuple[str, int], OperationKind] = {}
        """Operations that brokers have not answered yet, by session and number."""

    def issue(self, operation: ReadyOperation, intended: int | None = None) -> None:
        """Has a client do what it should have done at the time `intended`, by default now.

        A publication carries the time of its record, by the run's clock, so that the analysis knows the window of each
        detection exactly.
        """
        now = self._recorder.now()
        broker = self._moved.get(operation.client, operation.broker)
        self._recorder.note(
            EVENTS[operation.kind],
            kind=operation.kind.value,
            id=operation.id,
            client=operation.client,
            peer=broker,
            bytes=len(operation.body),
            intended=now if intended is None else intended,
            numbers=operation.numbers,
            strings=operation.strings,
            predicates=operation.predicates,
            text=operation.pattern,
            duration=operation.within,
            time=now,
        )
        self._counts.issued += 1
        try:
            self._submit(operation, broker, now)
        except (TooLargeError, SessionFullError, UnknownBrokerError, ClientDownError) as error:
            self._counts.rejected += 1
            self._recorder.note(
                Event.REJECTED,
                kind=operation.kind.value,
                id=operation.id,
                client=operation.client,
                peer=broker,
                text=str(error),
            )

    def move(self, client: str, broker: str) -> None:
        """A client at a site is a client of this broker from now on: of its session with it, which takes over what the
        former one leaves."""
        for (key, number), kind in list(self._asked.items()):
            if key.partition(" ")[2] == client:
                del self._asked[key, number]
                self._asked[SessionEnd(broker, client).key, number] = kind
        self._moved[client] = broker

    def receiver(
        self, end: SessionEnd, arrived: Callable[[], int | None] = _not_known
    ) -> Callable[[ClientEvent], None]:
        """The function to be called with the events of a session; `arrived` is asked for the time at which they came
        over an access link."""

        def on_event(event: ClientEvent) -> None:
            self._receive(end, event, arrived)

        return on_event

    def acknowledgement_log(self, broker: str) -> Callable[[ClientRequest], None]:
        """The function to be called with each publication that this broker has acknowledged."""
        if not self._keeps_accepted:
            return do_nothing

        def on_acknowledged(publication: ClientRequest) -> None:
            self._recorder.note(
                Event.CONFIRMED, kind=_PUBLISH.value, id=publication.id, client=publication.client, peer=broker
            )

        return on_acknowledged

    def note_notification(
        self, event: Event, end: SessionEnd, notification: ClientEvent, text: str | None = None
    ) -> None:
        """Logs something about a numbered notification besides that it came."""
        self._recorder.note(
            event, kind=_PUBLISH.value, id=notification.id, client=end.client, peer=end.broker,
            count=notification.number, text=text,
        )  # fmt: skip

    def _submit(self, operation: ReadyOperation, broker: str, now: int) -> None:
        key = broker
        if operation.client in self._at_sites:
            key = SessionEnd(broker, operation.client).key
        session = self._sessions.get(key)
        if session is None:
            raise UnknownBrokerError(f"{broker} is not one of the brokers in this driver's configuration")
        if operation.client not in self._attached:
            self._attached.add(operation.client)
            session.submit(operation.client, Operation.ATTACH)
        client, request, id, body = operation.client, REQUESTS[operation.kind], operation.id, operation.body
        if operation.kind is _PUBLISH:
            if operation.client in self.away:
                raise ClientDownError(f"{operation.client} does not run")
            session.submit(client, request, id, body, now + self.clock_offset)
            self._counts.published += 1
        else:
            number = session.submit(client, request, id, body)
            self._asked[key, number] = operation.kind

    def _receive(self, end: SessionEnd, event: ClientEvent, arrived: Callable[[], int | None]) -> None:
        broker = end.broker
        if event.publications:
            self._detected(broker, event)
        elif event.outcome is _NOTIFIED:
            self._counts.notified += len(event.clients)
            hops = None if event.hops == UNSTATED_HOPS else event.hops
            self._recorder.notifications(
                _NOTIFICATION, event.clients, id=event.id, hops=hops, bytes=len(event.body), peer=broker,
                position=event.position, arrived=arrived(),
            )  # fmt: skip
        elif event.outcome is Outcome.LOST:
            self._lost(broker, event)
        elif event.outcome is Outcome.STARTED:
            self._recorder.note(
                Event.ANNOUNCED, kind=_SUBSCRIBE_WORD, id=event.id, client=event.clients[0], peer=broker
            )
        elif event.outcome is Outcome.REJECTED:
            self._counts.rejected += 1
            kind = self._asked.pop((end.key, event.number), OperationKind.PUBLISH)
            self._recorder.note(
                Event.REJECTED, kind=kind.value, id=event.id, client=event.clients[0], peer=broker, text=event.reason
            )
        elif (asked := self._asked.pop((end.key, event.number), None)) is not None:
            self._counts.confirmed += 1
            self._recorder.note(Event.CONFIRMED, kind=asked.value, id=event.id, client=event.clients[0], peer=broker)

    def _lost(self, broker: str, event: ClientEvent) -> None:
        """A broker tells a client of positions that routing gave up, or of notifications that the client did not
        read."""
        client, position = event.clients[0], event.position
        if position is None:
            self._recorder.note(Event.MISSED, client=client, peer=broker, count=event.number)
        else:
            lost = event.number - position.position
            self._recorder.note(Event.LOST_RANGE, client=client, peer=broker, position=position, count=lost)

    def _detected(self, broker: str, event: ClientEvent) -> None:
        """Publications fulfil composite subscriptions of these clients."""
        self._counts.notified += len(event.clients)
        for client in event.clients:
            self._recorder.note(
                _NOTIFICATION,
                kind=_DETECTION_WORD,
                id=event.id,
                client=client,
                peer=broker,
                publications=[publication.id for publication in event.publications],
            )
