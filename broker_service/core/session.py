"""Client sessions: many logical clients share one, and each client's operations are known by the client's own names."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

import msgspec

from broker_service.core.progress import Progress
from broker_service.language import Advertisement, Subscription
from broker_service.language.composite_subscription import CompositeSubscription, parts_of
from broker_service.messages import (
    ACKNOWLEDGE_WITHIN,
    ACKNOWLEDGED_AT_ONCE,
    BrokerFrame,
    ClientEvent,
    ClientId,
    ClientRequest,
    Outcome,
)
from record.callbacks import do_nothing
from record.time_units import SECOND
from record.unread import UnreadPolicy

FRAMES_AT_ONCE: Final = 16
"""Frames that are made together; further events wait in the session, where they are counted."""

_ACKNOWLEDGE_AFTER: Final = round(ACKNOWLEDGE_WITHIN * SECOND)
_NOTIFIED: Final = Outcome.NOTIFIED  # looked up once: in Python 3.11 an enumeration's member takes 0.1 us

Content = TypeVar("Content", Advertisement, Subscription, CompositeSubscription)


class Session:
    """One stream of a session, without I/O: the events that wait for it, the frames that carry them, acknowledgements.

    `on_waiting` is called whenever there may be a frame to write; the shell then takes `next_frames`.

    Notifications have one bound and answers another, like messages of a link: a client that is flooded still gets the
    answers to its operations, because it waits for them. Of notifications without room, the `policy` says which are
    dropped; the client is told how many (`Outcome.LOST`). An answer that finds none is for the next stream, on which
    the client repeats its request (`on_unread`).
    """

    def __init__(self, limit: int, most_bytes: int, policy: UnreadPolicy = UnreadPolicy.DROP_NEWEST) -> None:
        """`limit` bounds the number of notifications and that of answers; `most_bytes` bounds both together."""
        self.on_waiting: Callable[[], None] = do_nothing
        self.clients: dict[ClientId, Client] = {}
        self.held: list[ClientRequest] = []
        """Requests that wait because the router holds publishers (`PublisherGate`)."""
        self.on_released: Callable[[], None] = do_nothing
        """Called when they may go on: the shell has `ClientSessions.resume` called soon, and not within this call."""
        self.on_unread: Callable[[], None] = do_nothing
        """Called when an answer found no room, or a notification whose policy is to end the session: the shell ends
        the stream, before anything behind it is acknowledged."""
        self.name = ""
        """The client's name for the session, under which another stream may continue it; empty: none may."""
        self.progress = Progress()
        self.numbered = False
        """True where the client wants its notifications numbered."""
        self.continued = False
        """True once another stream has continued the session."""
        self.ended = False
        """True once the broker has withdrawn its clients. Requests that waited for service are ignored from then on."""
        self.handled = 0
        """Greatest number of a publication that this stream has brought, repeats included, and that was handled."""
        self.acknowledged = 0
        """Greatest number up to which the client was told that publications were handled."""
        self.wake_at: int | None = None
        """The time in nanoseconds of the next call of `wake`, by which a late acknowledgement is written."""
        self.came: int | None = None
        """The time in nanoseconds at which the requests that are handled came over the client's access link, for the
        log; None where that is not known, or the client is beside the broker."""
        self.dropped = 0
        self._acknowledging = False
        """True when the next frame behind all events acknowledges."""
        self._limit = limit
        self._most_bytes = most_bytes
        self._policy = policy
        self._untold: Counter[ClientId] = Counter()
        """Notifications that were dropped and that their clients were not told of yet."""
        self._events: deque[ClientEvent] = deque()
        self._answers = 0
        self._bytes = 0

    @property
    def waiting(self) -> int:
        return len(self._events)

    def plan_acknowledgement(self, now: int) -> None:
        """Decides when to acknowledge what was handled by now: at once, or at `wake_at`."""
        unacknowledged = self.handled - self.acknowledged  # requests, about
        if not unacknowledged or self._acknowledging:
            return
        if unacknowledged >= ACKNOWLEDGED_AT_ONCE:
            self._acknowledge_soon()
        elif self.wake_at is None:
            self.wake_at = now + _ACKNOWLEDGE_AFTER

    def wake(self, now: int) -> None:
        """Does what is due."""
        if self.wake_at is not None and now >= self.wake_at:
            self._acknowledge_soon()

    def next_frames(self, batch: int, largest: int) -> Sequence[BrokerFrame]:
        """Frames that may be written now, of at most `batch` events and about `largest` bytes each. An acknowledgement
        comes behind all events, because rejections must not come after it."""
        frames: list[BrokerFrame] = []
        while self._events and len(frames) < FRAMES_AT_ONCE:
            events = self.take(batch, largest)
            frames.append(BrokerFrame([*self._tell(), *events] if self._untold else events))
        if self._events:
            self.on_waiting()
        elif self._acknowledging:
            self._acknowledging = False
            self.acknowledged = self.handled
            frames.append(BrokerFrame(acknowledged=self.acknowledged))
        return frames

    def put(self, event: ClientEvent) -> Sequence[ClientEvent]:
        """Queues an event. Returns those that are dropped, and counted, because the session does not read."""
        answers, occupied = self._answers, self._bytes + len(event.body)
        if event.publications:
            occupied += event.contents_size
        if event.outcome is _NOTIFIED:
            if len(self._events) - answers >= self._limit or occupied > self._most_bytes:
                return self._put_without_room(event)
        elif answers >= self._limit:
            self.dropped += 1
            self.on_unread()
            return (event,)
        else:
            self._answers = answers + 1
        self._bytes = occupied
        self._events.append(event)
        self.on_waiting()
        return ()

    def take(self, limit: int, most_bytes: int | None = None) -> list[ClientEvent]:
        """The next events for one frame: at most `limit`, and none beyond the one that reaches `most_bytes`.

        They are sent now, so that what was dropped before has no number."""
        events, size = self._events, 0
        taken: list[ClientEvent] = []
        while events and len(taken) < limit and (most_bytes is None or size < most_bytes):
            event = events.popleft()
            size += len(event.body)
            if event.publications:
                size += event.contents_size
            if event.outcome is not _NOTIFIED:
                self._answers -= 1
            elif self.numbered:
                self.progress.notified += 1
                event = msgspec.structs.replace(event, number=self.progress.notified)
            taken.append(event)
        self._bytes -= size
        return taken

    def _put_without_room(self, event: ClientEvent) -> Sequence[ClientEvent]:
        """Does with a notification for which there is no room what the policy says. Returns what is dropped."""
        dropped = [event]
        if self._policy is UnreadPolicy.END_SESSION:
            self.on_unread()
        elif self._policy is UnreadPolicy.DROP_OLDEST and (oldest := self._oldest(_size(event))):
            dropped = oldest
            self._events.append(event)
            self._bytes += _size(event)
        self.dropped += len(dropped)
        for lost in dropped:
            self._untold.update(lost.clients)
        return dropped

    def _oldest(self, size: int) -> list[ClientEvent]:
        """Takes out the notifications that have waited longest, as many as one of this size needs; none where all of
        them would not make room."""
        events, taken, bytes_left = self._events, [], self._bytes
        room = self._limit - 1
        count = len(events) - self._answers
        for event in events:
            if count <= room and bytes_left + size <= self._most_bytes:
                break
            if event.outcome is _NOTIFIED:
                taken.append(event)
                count, bytes_left = count - 1, bytes_left - _size(event)
        if count > room or bytes_left + size > self._most_bytes:
            return []
        for event in taken:
            events.remove(event)
        self._bytes = bytes_left
        return taken

    def _tell(self) -> list[ClientEvent]:
        """Events that tell clients how many notifications were dropped for them since they were told last."""
        told = [ClientEvent(Outcome.LOST, (client,), lost) for client, lost in self._untold.items()]
        self._untold.clear()
        return told

    def _acknowledge_soon(self) -> None:
        self.wake_at = None
        self._acknowledging = True
        self.on_waiting()


def _size(event: ClientEvent) -> int:
    return len(event.body) + (event.contents_size if event.publications else 0)


class SessionNames:
    """Sessions by their names, so that a new stream continues where a former one broke."""

    def __init__(self, most: int) -> None:
        """`most` bounds the sessions whose progress is kept though no stream is open."""
        self._most = most
        self._open: dict[str, Session] = {}
        self._left: dict[str, Progress] = {}

    def enter(self, session: Session, name: str) -> Session | None:
        """Gives a session its name. Returns the session that it continues, if that one is still open."""
        former = self._open.get(name)
        left = self._left.pop(name, None)
        if former is not None:
            former.continued = True
            session.progress = former.progress
        elif left is not None:
            session.progress = left
        session.name = name
        self._open[name] = session
        return former

    def leave(self, session: Session) -> None:
        """The stream of a session has ended."""
        if session.name and self._open.get(session.name) is session:
            del self._open[session.name]
            self._left[session.name] = session.progress
            if len(self._left) > self._most:
                del self._left[next(iter(self._left))]


class PublisherGate:
    """The gate before the router of one broker: while it is closed, clients' publications wait in their sessions.

    A session keeps its order, so whatever it brings behind a publication that waits does so, too. Sessions that bring
    no publication go on. Shells stop to read a session that holds requests back, so that the rest waits at the client.
    The gate is open to begin with.
    """

    def __init__(self) -> None:
        self.closed = False
        self.reason = ""
        """Reason that the router gave for holding publishers."""
        self._holding: dict[Session, None] = {}

    @property
    def held(self) -> int:
        """Requests that wait, of all sessions."""
        return sum(len(session.held) for session in self._holding)

    def close(self, reason: str) -> None:
        self.closed, self.reason = True, reason

    def open(self) -> None:
        """Has the shell call `ClientSessions.resume` for each session that holds requests back."""
        self.closed = False
        for session in list(self._holding):
            session.on_released()

    def keep(self, session: Session, requests: Sequence[ClientRequest]) -> None:
        """Has requests wait in their session, behind those that wait there already."""
        session.held += requests
        self._holding[session] = None

    def take(self, session: Session) -> Sequence[ClientRequest]:
        """The requests that a session holds back, which it does no more."""
        held, session.held = session.held, []
        self._holding.pop(session, None)
        return held


DECLARED_OVERHEAD = 1024
"""Bytes of memory that an advertisement, a subscription or a part of a composite occupies besides its body,
approximately."""


class Declared(Generic[Content]):
    """An advertisement, a subscription or a composite subscription of a client."""

    __slots__ = ("body", "content", "id", "started", "withdraw")

    def __init__(
        self, id: str, content: Content, body: bytes, withdraw: Callable[[ClientId, str], Sequence[Any]]
    ) -> None:
        self.id = id
        """The identifier in the overlay. A composite subscription has none there, and its client's name for it here."""
        self.content: Content = content
        self.body = body
        """The content as the client wrote it."""
        self.withdraw = withdraw
        """Returns the router's actions that withdraw what this client declared under `id`."""
        self.started = False
        """True once the start of a subscription was announced."""

    @property
    def size(self) -> int:
        """Bytes of memory, approximately."""
        content = self.content
        parts = len(parts_of(content.pattern)) if isinstance(content, CompositeSubscription) else 1
        return len(self.body) + DECLARED_OVERHEAD * parts


@dataclass(slots=True)
class Client:
    """A logical client and its declarations, by its own names, oldest first."""

    id: ClientId
    session: Session
    advertisements: dict[str, Declared[Advertisement]] = field(default_factory=dict)
    subscriptions: dict[str, Declared[Any]] = field(default_factory=dict)
    """Subscriptions and composite subscriptions."""
    names: dict[str, str] = field(default_factory=dict)
    """The client's own names of its declarations, by `Declared.id`."""
