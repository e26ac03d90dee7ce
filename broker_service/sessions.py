"""Client sessions: many logical clients share one, and each client's operations are known by the client's own names."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from broker_service.language import Advertisement, Subscription
from broker_service.messages import ClientEvent, ClientId, Outcome

_NOTIFIED = Outcome.NOTIFIED  # looked up once: in Python 3.11 an enumeration's member takes 0.1 us

Content = TypeVar("Content", Advertisement, Subscription)


class Session:
    """The events that wait for one session. `on_waiting` is called whenever something was put into the queue.

    Notifications have one bound, answers another, as messages of a link do: a client that is flooded is still told
    whether its operations were carried out, for it waits for that.
    """

    def __init__(self, limit: int, most_bytes: int) -> None:
        """`limit` bounds notifications and answers, each for themselves, `most_bytes` both together."""
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
        """The next events for one frame: so many at most, and no further ones once they have so many bytes."""
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
"""Bytes that an advertisement or a subscription takes of a broker's memory besides its body, about."""


@dataclass(frozen=True, slots=True)
class Declared(Generic[Content]):
    """An advertisement or a subscription of a client, and the identifier it has in the overlay."""

    id: str
    content: Content
    body: bytes
    """The content as the client wrote it."""

    @property
    def size(self) -> int:
        """Bytes, about."""
        return len(self.body) + DECLARED_OVERHEAD


@dataclass(slots=True)
class Client:
    """A logical client and what it has told the broker, by its own names, oldest first."""

    id: ClientId
    session: Session
    advertisements: dict[str, Declared[Advertisement]] = field(default_factory=dict)
    subscriptions: dict[str, Declared[Subscription]] = field(default_factory=dict)


def _nothing() -> None:
    """Stands in until a shell listens."""
