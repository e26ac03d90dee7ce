"""The client library: publish and subscribe through a broker.

    async with Session("127.0.0.1:7100") as session:
        alice = await session.client("alice")
        await alice.subscribe("s1", Subscription((Predicate("class", Operator.STRING_EQUAL, "STOCK"),)))
        async for notification in alice:
            print(notification.publication.attributes)

A composite subscription asks for publications that match a pattern together:

        pattern = parse_composite("{[class,eq,'STOCK'],[symbol,eq,$S$X]}&{[class,eq,'NEWS'],[symbol,eq,$S$X]}")
        await alice.subscribe("c1", CompositeSubscription(pattern, within=5_000_000_000))
        async for detection in alice.detections:
            print([constituent.publication.attributes for constituent in detection.publications])

Some routing protocols announce that a subscription has started: what is published from then on arrives.

        await alice.started("s1")

A client that processes its notifications may acknowledge them, in order:

        session.acknowledge(notification)

Any number of logical clients share a session. Operations return when the broker has confirmed them, and raise
`RejectedError` when it refuses them; publications return at once and a rejection is counted.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Final, Generic, Self, TypeVar

from broker_service.client_library.client_requests import SessionLimits, TooLargeError
from broker_service.client_library.client_session import ClientSession
from broker_service.client_library.starts import NotAnnouncedError, Starts
from broker_service.language import Advertisement, ContentError, Publication, Subscription
from broker_service.language.composite_subscription import CompositeSubscription
from broker_service.language.composite_wire import encode_composite
from broker_service.language.content import decode_publication, encode_predicates, encode_publication
from broker_service.language.model import shortened
from broker_service.messages import ClientEvent, ClientId, Operation, Outcome, StreamPosition

NOTIFICATIONS_WAITING = 100_000
"""Notifications that may wait for a client to take them, and as many detections; further ones are dropped and
counted."""

REJECTIONS_KEPT = 10_000
"""Rejected publications, the latest, whose reasons a client keeps."""


_NOTIFIED: Final = Outcome.NOTIFIED  # looked up once: a member of an enumeration takes 0.1 us in Python 3.11

_log = logging.getLogger(__name__)

Item = TypeVar("Item")


class RejectedError(Exception):
    """The broker refused an operation; the text is the reason."""


@dataclass(frozen=True, slots=True)
class LostRange:
    """Positions of a stream that the routing protocol has given up for a client, because its broker was cut off for too
    long. Nobody can tell which of the publications among them the client would have got."""

    stream: str
    start: int
    end: int
    """Position behind the last lost one."""


@dataclass(frozen=True, slots=True)
class SessionPlace:
    """Place of a notification or a detection in its session."""

    number: int
    """Number among all that the broker sent in the session, over all its streams; it begins anew with 1 where the
    broker knows nothing of former streams. So a gap shows what was lost with a former stream."""
    connection: int
    """The stream on which it came (`Session.connections`)."""


@dataclass(frozen=True, slots=True)
class Notification:
    """A publication that matches one of the client's subscriptions."""

    id: str
    publication: Publication
    hops: int
    """Overlay links it travelled."""
    position: StreamPosition | None = None
    """Place of the publication in a stream, where the routing protocol keeps the order of one."""
    lost_before: tuple[LostRange, ...] = ()
    """Ranges that were lost between the former notification and this one."""
    place: SessionPlace | None = None
    """Place of the notification in the session; None where the broker does not number notifications."""


@dataclass(frozen=True, slots=True)
class Constituent:
    """One of the publications of a detection."""

    id: str
    publication: Publication


@dataclass(frozen=True, slots=True)
class Detection:
    """Publications that together match a composite subscription of the client."""

    id: str
    """The client's name for the composite subscription."""
    publications: tuple[Constituent, ...]
    """Publications of the set, in the order of their publishing."""
    place: SessionPlace | None = None
    """Place of the detection in the session; None where the broker does not number notifications."""


class Session:
    """A connection to a broker that is opened again when it breaks. Use it as a context manager."""

    def __init__(self, address: str, limits: SessionLimits | None = None) -> None:
        """`address` is one that the broker listens on: `unix:/path` or `host:port`."""
        self.transport = ClientSession(address, self._on_event, limits)
        """The session as its logical clients share it."""
        self.transport.on_down = self._on_down
        self.transport.numbered = True
        self.malformed = 0
        """Notifications whose content could not be read. Each was dropped, because brokers pass content on unread and
        so any publisher's neighbour could end the sessions of others by it."""
        self._clients: dict[ClientId, Client] = {}
        self._answers: dict[int, asyncio.Future[None]] = {}

    async def __aenter__(self) -> Self:
        """Connects. Raises `ConnectError` when no broker answers."""
        await self.transport.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.transport.close()
        for client in self._clients.values():
            client.end()
        for answer in self._answers.values():
            answer.cancel()

    @property
    def connections(self) -> int:
        """Streams opened so far."""
        return self.transport.connections

    @property
    def announces_starts(self) -> bool:
        """True when the broker announces starts of subscriptions."""
        return self.transport.announces_starts

    def acknowledge(self, latest: Notification | Detection) -> None:
        """Tells the broker that the session's clients have processed a notification and all that came before it.

        Has no effect for a notification of an earlier stream, whose acknowledgements ended with it."""
        place = latest.place
        if place is not None and place.connection == self.connections:
            self.transport.acknowledge(place.number)

    async def client(self, id: ClientId) -> Client:
        """Attaches a logical client. Names are unique among all clients of a broker: the latest to attach owns one."""
        client = self._clients[id] = Client(id, self)
        await self.perform(id, Operation.ATTACH)
        return client

    async def perform(self, client: ClientId, operation: Operation, id: str = "", body: bytes = b"") -> None:
        """Carries out an operation other than a publication. Raises `RejectedError` or `TooLargeError`."""
        number = self.transport.submit(client, operation, id, body)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        try:
            await answer
        finally:
            del self._answers[number]

    def _note_malformed(self, event: ClientEvent, error: ContentError) -> None:
        if not self.malformed:
            _log.warning(
                "notification %s cannot be read, further ones are only counted: %s", shortened(event.id), error
            )
        self.malformed += 1

    def _on_event(self, event: ClientEvent) -> None:
        if event.outcome is not _NOTIFIED:
            self._on_other_event(event)
            return
        notification: Notification | Detection
        place = SessionPlace(event.number, self.transport.connections) if event.number else None
        try:
            if event.publications:
                notification = _detection(event, place)
            else:
                content = decode_publication(event.body)
                notification = Notification(event.id, content, event.hops, event.position, place=place)
        except ContentError as error:
            self._note_malformed(event, error)
            return
        for id in event.clients:
            if (client := self._clients.get(id)) is not None:
                client.notify(notification)

    def _on_other_event(self, event: ClientEvent) -> None:
        if event.outcome is Outcome.LOST:
            if event.position is not None and (client := self._clients.get(event.clients[0])) is not None:
                client.lose(LostRange(event.position.stream, event.position.position, event.number))
            return
        if event.outcome is Outcome.STARTED:
            if (client := self._clients.get(event.clients[0])) is not None:
                client.starts.announce(event.id)
            return
        answer = self._answers.get(event.number)
        if answer is None:
            if event.outcome is Outcome.REJECTED:
                for id in event.clients:
                    if (client := self._clients.get(id)) is not None:
                        client.refuse(event.id, event.reason)
        elif not answer.done():
            if event.outcome is Outcome.CONFIRMED:
                answer.set_result(None)
            else:
                answer.set_exception(RejectedError(event.reason))

    def _on_down(self) -> None:
        for client in self._clients.values():
            client.starts.begin_anew()


def _detection(event: ClientEvent, place: SessionPlace | None) -> Detection:
    """The detection that an event brings. Raises `ContentError` for content that cannot be read."""
    constituents = [Constituent(read.id, decode_publication(read.body)) for read in event.publications]
    return Detection(event.id, tuple(constituents), place)


class Client:
    """A logical client of a session. Iterating over it yields its notifications until the session ends."""

    def __init__(self, id: ClientId, session: Session) -> None:
        self.id = id
        self.detections: Inbox[Detection] = Inbox()
        """Detections of its composite subscriptions; iterating over them is as iterating over the client."""
        self.starts = Starts()
        """Starts of its subscriptions, as far as the broker has announced them."""
        self.rejected: dict[str, str] = {}
        """Reasons of the latest `REJECTIONS_KEPT` publications that the broker refused, by id."""
        self._session = session
        self.lost: deque[LostRange] = deque(maxlen=REJECTIONS_KEPT)
        """Latest ranges of streams that were lost for it; those before a notification are named there, too."""
        self._lost_lately: list[LostRange] = []
        """Ranges behind the latest notification."""
        self._notifications: Inbox[Notification] = Inbox()

    @property
    def dropped(self) -> int:
        """Notifications and detections that were not taken in time."""
        return self._notifications.dropped + self.detections.dropped

    async def advertise(self, id: str, advertisement: Advertisement) -> None:
        """Promises that its publications will conform to an advertisement. Raises `RejectedError`."""
        await self._session.perform(self.id, Operation.ADVERTISE, id, encode_predicates(advertisement.predicates))

    async def unadvertise(self, id: str) -> None:
        """Withdraws an advertisement. Raises `RejectedError` when there is none of that name."""
        await self._session.perform(self.id, Operation.UNADVERTISE, id)

    async def subscribe(self, id: str, subscription: Subscription | CompositeSubscription) -> None:
        """Asks for notifications, or for detections of a composite subscription. Raises `RejectedError`."""
        self.starts.begin(id)
        try:
            if isinstance(subscription, CompositeSubscription):
                await self._session.perform(self.id, Operation.COMPOSE, id, encode_composite(subscription))
            else:
                body = encode_predicates(subscription.predicates)
                await self._session.perform(self.id, Operation.SUBSCRIBE, id, body)
        except (RejectedError, TooLargeError):
            self.starts.end(id)
            raise

    async def started(self, id: str) -> None:
        """Waits until the broker has announced the start of a subscription of either kind in the present session.

        Raises `NotAnnouncedError` when the routing protocol announces none, and `NotStandingError` when the client has
        no such subscription, or it ends meanwhile: it is refused or withdrawn, the client detaches, or its session
        closes.
        """
        if not self._session.announces_starts:
            raise NotAnnouncedError("the routing protocol of this broker announces no starts of subscriptions")
        await self.starts.wait(id)

    async def unsubscribe(self, id: str) -> None:
        """Withdraws a subscription of either kind. Raises `RejectedError` when there is none of that name."""
        self.starts.end(id)
        await self._session.perform(self.id, Operation.UNSUBSCRIBE, id)

    async def detach(self) -> None:
        """Detaches; the broker withdraws the client's advertisements and subscriptions."""
        await self._session.perform(self.id, Operation.DETACH)
        self.end()

    def publish(self, id: str, publication: Publication) -> None:
        """Publishes without waiting; `rejected` names the publication later if the broker refused it.

        Raises `TooLargeError`, or `SessionFullError` when too much waits to be sent already.
        """
        self._session.transport.submit(self.id, Operation.PUBLISH, id, encode_publication(publication))

    def notify(self, notification: Notification | Detection) -> None:
        """Adds a notification to those that iteration yields."""
        if isinstance(notification, Notification):
            if self._lost_lately:
                notification = replace(notification, lost_before=tuple(self._lost_lately))
                self._lost_lately.clear()
            self._notifications.put(notification)
        else:
            self.detections.put(notification)

    def lose(self, lost: LostRange) -> None:
        """Notes that positions of a stream are lost for the client."""
        self.lost.append(lost)
        self._lost_lately = [*self._lost_lately, lost][-REJECTIONS_KEPT:]

    def refuse(self, publication: str, reason: str) -> None:
        """Notes that the broker refused a publication."""
        self.rejected[publication] = reason
        if len(self.rejected) > REJECTIONS_KEPT:
            del self.rejected[next(iter(self.rejected))]

    def end(self) -> None:
        """Ends iteration once all notifications that wait were taken, and all waiting for starts."""
        self._notifications.end()
        self.detections.end()
        self.starts.end_all()

    def __aiter__(self) -> Self:
        return self

    def __anext__(self) -> Awaitable[Notification]:
        return anext(self._notifications)


class Inbox(Generic[Item]):
    """Items that wait to be taken. Iterating over it yields them in order, and waits for more until it ends."""

    def __init__(self) -> None:
        self.dropped = 0
        """Items that found no room."""
        self._waiting: deque[Item] = deque()
        self._arrived = asyncio.Event()
        self._ended = False

    def put(self, item: Item) -> None:
        if len(self._waiting) >= NOTIFICATIONS_WAITING:
            self.dropped += 1
            return
        self._waiting.append(item)
        self._arrived.set()

    def end(self) -> None:
        """Ends iteration once all items that wait were taken."""
        self._ended = True
        self._arrived.set()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Item:
        while not self._waiting:
            if self._ended:
                raise StopAsyncIteration
            self._arrived.clear()
            await self._arrived.wait()
        return self._waiting.popleft()
