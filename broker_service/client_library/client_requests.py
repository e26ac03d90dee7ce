"""What the clients of one session ask of their broker, without I/O.

Many logical clients share one session. It remembers what each of them has advertised and subscribed to; when its stream
breaks it is opened again with back-off and says all of that again, for a broker forgets clients whose session is gone.
Operations that were not answered yet are answered then. Publications travel at most once: those that were on the wire
when the stream broke may be lost. `client_session` does this over gRPC, the simulator in virtual time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from broker_service.language.model import shortened
from broker_service.messages import ClientEvent, ClientId, ClientRequest, Operation, Outcome
from broker_service.transport.wire import LONGEST_NAME

_REQUEST_OVERHEAD = 64
"""Bytes that a request's frame adds to body and names at most."""

_CHARACTER_BYTES = 4
"""Bytes of a character of a name at most."""


# Looked up once: in Python 3.11 an enumeration's member takes 0.1 us, and these are on every message's way.
_PUBLISH, _NOTIFIED = Operation.PUBLISH, Outcome.NOTIFIED


class TooLargeError(ValueError):
    """An operation is larger than brokers take."""


class SessionFullError(Exception):
    """So much waits to be sent already that a publication was not taken."""


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """The bounds a session keeps."""

    message_bytes: int = 1 << 20
    """Largest operation, as `Limits.message_bytes` of the broker."""
    batch: int = 128
    """Operations in one frame at most."""
    queue: int = 100_000
    """Operations that may wait to be sent; publications beyond are refused."""
    reconnect_first: float = 0.05
    """Seconds before a broken stream is tried again; doubles up to `reconnect_last`."""
    reconnect_last: float = 1.0


@dataclass(slots=True)
class _Standing:
    """What a logical client wants its broker to know: bodies by the client's own names."""

    advertisements: dict[str, bytes] = field(default_factory=dict)
    subscriptions: dict[str, bytes] = field(default_factory=dict)


class ClientRequests:
    """The requests of one session: those that wait to be sent, those not answered yet, and what stands.

    `address` is for messages to people; `on_event` hears every answer and notification once.
    """

    def __init__(self, address: str, on_event: Callable[[ClientEvent], None], limits: SessionLimits) -> None:
        self._address = address
        self._on_event = on_event
        self._limits = limits
        self._queue: deque[ClientRequest] = deque()
        self._unanswered: dict[int, ClientRequest] = {}
        self._standing: dict[ClientId, _Standing] = {}
        self._number = 0

    @property
    def waiting(self) -> int:
        """Operations not sent yet."""
        return len(self._queue)

    def submit(self, client: ClientId, operation: Operation, id: str = "", body: bytes = b"") -> int:
        """Hands an operation over; its answer carries the number returned.

        Raises `TooLargeError`, and for a publication `SessionFullError`; the operation is not sent then.
        """
        if len(client) > LONGEST_NAME or len(id) > LONGEST_NAME:
            raise TooLargeError(
                f"{operation.name.lower()} {shortened(id)} of client {shortened(client)}: a name has more than the"
                f" {LONGEST_NAME} characters that brokers take"
            )
        names = _CHARACTER_BYTES * (len(client) + len(id))
        if len(body) + names + _REQUEST_OVERHEAD > self._limits.message_bytes:
            raise TooLargeError(
                f"{operation.name.lower()} {id!r} of client {client!r} has {len(body)} bytes;"
                f" brokers take at most {self._limits.message_bytes} (limits.message_bytes) with all that goes with it"
            )
        queue = self._queue
        if operation is _PUBLISH and len(queue) >= self._limits.queue:
            raise SessionFullError(f"{len(queue)} operations wait for {self._address} already")
        self._number += 1
        request = ClientRequest(client, self._number, operation, id, body)
        if operation is not _PUBLISH:
            self._unanswered[request.number] = request
            self._remember(request)
        queue.append(request)
        return request.number

    def take(self) -> list[ClientRequest]:
        """The next operations for one frame."""
        queue = self._queue
        return [queue.popleft() for _ in range(min(len(queue), self._limits.batch))]

    def answer(self, event: ClientEvent) -> None:
        """What the broker tells: passed on, unless it only repeats what was confirmed before."""
        if event.outcome is _NOTIFIED:
            self._on_event(event)
        else:
            self._answered(event)

    def resubmit(self) -> None:
        """After a reconnection: all that stands goes first, and what a new session settles is settled."""
        unanswered = {(each.client, each.operation, each.id): number for number, each in self._unanswered.items()}
        publications = [request for request in self._queue if request.operation is Operation.PUBLISH]
        standing = [
            ClientRequest(client, unanswered.get((client, operation, id), 0), operation, id, body)
            for client, operation, id, body in self._all_standing()
        ]
        self._queue = deque((*standing, *publications))
        carried = {request.number for request in standing}
        for number, request in list(self._unanswered.items()):
            if number not in carried:
                self._answered(ClientEvent(Outcome.CONFIRMED, (request.client,), number, request.id))

    def _answered(self, event: ClientEvent) -> None:
        request = self._unanswered.pop(event.number, None)
        if request is None and event.outcome is Outcome.CONFIRMED:
            return  # said again after a reconnection, and confirmed before
        if request is not None and event.outcome is Outcome.REJECTED:
            self._forget(request)
        self._on_event(event)

    # What stands, and is said again

    def _remember(self, request: ClientRequest) -> None:
        if request.operation is Operation.DETACH:
            self._standing.pop(request.client, None)
            return
        standing = self._standing.setdefault(request.client, _Standing())
        if request.operation is Operation.ADVERTISE:
            standing.advertisements[request.id] = request.body
        elif request.operation is Operation.SUBSCRIBE:
            standing.subscriptions[request.id] = request.body
        elif request.operation is Operation.UNADVERTISE:
            standing.advertisements.pop(request.id, None)
        elif request.operation is Operation.UNSUBSCRIBE:
            standing.subscriptions.pop(request.id, None)

    def _forget(self, request: ClientRequest) -> None:
        """The broker would not have it."""
        standing = self._standing.get(request.client)
        if standing is None:
            return
        if request.operation is Operation.ADVERTISE:
            standing.advertisements.pop(request.id, None)
        elif request.operation is Operation.SUBSCRIBE:
            standing.subscriptions.pop(request.id, None)

    def _all_standing(self) -> Iterator[tuple[ClientId, Operation, str, bytes]]:
        for client, standing in self._standing.items():
            yield client, Operation.ATTACH, "", b""
            for id, body in standing.advertisements.items():
                yield client, Operation.ADVERTISE, id, body
            for id, body in standing.subscriptions.items():
                yield client, Operation.SUBSCRIBE, id, body
