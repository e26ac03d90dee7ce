"""Client sessions: many logical clients share one, and each client's operations are known by the client's own names."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from broker_service.language import Advertisement, Publication, Subscription
from broker_service.language.relations import conforms
from broker_service.messages import ClientEvent, ClientId, Outcome

_NOTIFIED = Outcome.NOTIFIED  # looked up once: in Python 3.11 an enumeration's member takes 0.1 us

Content = TypeVar("Content", Advertisement, Subscription)


class Session:
    """The events that wait for one session. `on_waiting` is called whenever an event was put into the queue.

    Notifications have one bound and answers another, like messages of a link: a client that is flooded still gets the
    answers to its operations, because it waits for them.
    """

    def __init__(self, limit: int, most_bytes: int) -> None:
        """`limit` bounds the number of notifications and that of answers; `most_bytes` bounds both together."""
        self.on_waiting: Callable[[], None] = _nothing
        self.clients: dict[ClientId, Client] = {}
        self.dropped = 0
        self._limit = limit
        self._most_bytes = most_bytes
        self._events: deque[ClientEvent] = deque()
        self._answers = 0
        self._bytes = 0

    @property
    def waiting(self) -> int:
        return len(self._events)

    def put(self, event: ClientEvent) -> bool:
        """Queues an event; drops and counts it, and returns False, when the session does not read."""
        answers, occupied = self._answers, self._bytes + len(event.body)
        if event.outcome is _NOTIFIED:
            if len(self._events) - answers >= self._limit or occupied > self._most_bytes:
                self.dropped += 1
                return False
        elif answers >= self._limit:
            self.dropped += 1
            return False
        else:
            self._answers = answers + 1
        self._bytes = occupied
        self._events.append(event)
        self.on_waiting()
        return True

    def take(self, limit: int, most_bytes: int | None = None) -> list[ClientEvent]:
        """The next events for one frame: at most `limit`, and none beyond the one that reaches `most_bytes`."""
        events, size = self._events, 0
        taken: list[ClientEvent] = []
        while events and len(taken) < limit and (most_bytes is None or size < most_bytes):
            event = events.popleft()
            size += len(event.body)
            if event.outcome is not _NOTIFIED:
                self._answers -= 1
            taken.append(event)
        self._bytes -= size
        return taken


DECLARED_OVERHEAD = 1024
"""Bytes of memory that an advertisement or a subscription occupies besides its body, approximately."""


@dataclass(frozen=True, slots=True)
class Declared(Generic[Content]):
    """An advertisement or a subscription of a client, and the identifier it has in the overlay."""

    id: str
    content: Content
    body: bytes
    """The content as the client wrote it."""

    @property
    def size(self) -> int:
        """Bytes of memory, approximately."""
        return len(self.body) + DECLARED_OVERHEAD


@dataclass(slots=True)
class Client:
    """A logical client and its declarations, by its own names, oldest first."""

    id: ClientId
    session: Session
    advertisements: dict[str, Declared[Advertisement]] = field(default_factory=dict)
    subscriptions: dict[str, Declared[Subscription]] = field(default_factory=dict)

    def advertisement_for(self, publication: Publication) -> str | None:
        """The overlay's identifier of the oldest advertisement that a publication conforms to; None without any."""
        for advertised in self.advertisements.values():
            if conforms(publication, advertised.content):
                return advertised.id
        return None


def _nothing() -> None:
    """Does nothing until a shell sets its own callback."""
