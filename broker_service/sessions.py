"""Client sessions: many logical clients share one, and each client's operations are known by the client's own names."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from broker_service.language import Advertisement, Subscription
from broker_service.messages import ClientEvent, ClientId

Content = TypeVar("Content", Advertisement, Subscription)


class Session:
    """The events that wait for one session. `on_waiting` is called whenever something was put into the queue."""

    def __init__(self, limit: int) -> None:
        self.on_waiting: Callable[[], None] = _nothing
        self.clients: dict[ClientId, Client] = {}
        self.dropped = 0
        self._limit = limit
        self._events: deque[ClientEvent] = deque()

    @property
    def waiting(self) -> int:
        return len(self._events)

    def put(self, event: ClientEvent) -> bool:
        """Queues an event; drops and counts it, and returns False, when the session does not read."""
        if len(self._events) >= self._limit:
            self.dropped += 1
            return False
        self._events.append(event)
        self.on_waiting()
        return True

    def take(self, limit: int) -> list[ClientEvent]:
        """The next events for one frame."""
        events = self._events
        return [events.popleft() for _ in range(min(limit, len(events)))]


@dataclass(frozen=True, slots=True)
class Declared(Generic[Content]):
    """An advertisement or a subscription of a client, and the identifier it has in the overlay."""

    id: str
    content: Content
    body: bytes
    """The content as the client wrote it."""


@dataclass(slots=True)
class Client:
    """A logical client and what it has told the broker, by its own names, oldest first."""

    id: ClientId
    session: Session
    advertisements: dict[str, Declared[Advertisement]] = field(default_factory=dict)
    subscriptions: dict[str, Declared[Subscription]] = field(default_factory=dict)


def _nothing() -> None:
    """Stands in until a shell listens."""
