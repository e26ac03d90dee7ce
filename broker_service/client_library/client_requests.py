"""Requests of the clients of one session, without I/O.

Many logical clients share one session. It remembers what each of them has advertised and subscribed to. When its stream
breaks, it is opened again with back-off and submits all of that again, because a broker forgets clients whose session
has ended. Operations that were not answered before are answered then. Publications that the broker has not acknowledged
are repeated, and the broker drops those that it has handled already, by their numbers. A broker that was restarted in
between does not know what its former incarnation has handled; those publications are given up then, because they might
reach subscribers twice, unless the routing protocol recognises repeats. It recognises the latest ones, so no more than
these are sent before the broker has acknowledged some. `client_session` carries requests over gRPC, the simulator in
virtual time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

import msgspec

from broker_service.core.progress import REPEATABLE
from broker_service.language.model import shortened
from broker_service.messages import (
    MOST_IN_DOUBT,
    SUBSCRIBING,
    BrokerFrame,
    ClientEvent,
    ClientId,
    ClientRequest,
    Operation,
    Outcome,
    Welcome,
    answer,
)
from broker_service.transport.wire import (
    LONGEST_NAME,
)
from record.callbacks import do_nothing

_ELSEWHERE: Final = -1
"""Stands for the incarnation of another broker, with which the former session was."""
_REQUEST_OVERHEAD: Final = 64
"""Bytes that a request's frame adds to body and names at most."""

_CHARACTER_BYTES: Final = 4
"""Bytes of a character of a name at most."""


# Looked up once: in Python 3.11 an enumeration's member takes 0.1 us, and these are on every message's way.
_PUBLISH: Final = Operation.PUBLISH
_NOTIFIED: Final = Outcome.NOTIFIED
_STARTED: Final = Outcome.STARTED
_LOST: Final = Outcome.LOST


class TooLargeError(ValueError):
    """An operation is larger than brokers take."""


class SessionFullError(Exception):
    """A publication was refused, because the session's queue is full."""


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """The bounds of a session."""

    message_bytes: int = 1 << 20
    """Largest operation, as `Limits.message_bytes` of the broker."""
    batch: int = 128
    """Operations in one frame at most."""
    queue: int = 100_000
    """Operations that may wait to be sent; publications beyond are refused."""
    unacknowledged: int = 200_000
    """Requests that may be sent from the oldest publication on that the broker has not acknowledged; further ones wait.
    With one more batch at most `REPEATABLE`, because a broker recognises no older repeats."""
    reconnect_first: float = 0.05
    """Seconds before a broken stream is tried again; doubles up to `reconnect_last`."""
    reconnect_last: float = 1.0
    heartbeat: float = 1.0
    """Seconds of which ten without a sign of life from the broker's host end a stream over a network."""

    def __post_init__(self) -> None:
        """Raises `ValueError` where more could be repeated than a broker recognises."""
        if self.unacknowledged + self.batch > REPEATABLE:
            raise ValueError(f"unacknowledged: with batch at most {REPEATABLE:,}, not {self.unacknowledged:,}")


@dataclass(slots=True)
class _Declared:
    """The requests of a logical client that declare something, by the client's own names for it."""

    advertisements: dict[str, ClientRequest] = field(default_factory=dict)
    subscriptions: dict[str, ClientRequest] = field(default_factory=dict)
    """Subscriptions and composite subscriptions."""


class ClientRequests:
    """The requests of one session: those that wait to be sent, those not answered yet, and those in force.

    `address` appears in error messages; `on_event` is called with every answer and notification once;
    `on_acknowledged` is called with each publication whose acceptance the broker has acknowledged.
    """

    def __init__(
        self,
        address: str,
        on_event: Callable[[ClientEvent], None],
        limits: SessionLimits,
        on_acknowledged: Callable[[ClientRequest], None] = do_nothing,
    ) -> None:
        self.on_waiting: Callable[[], None] = do_nothing
        """Called when there may be requests to send: the stream then takes them."""
        self._address = address
        self._on_event = on_event
        self._on_acknowledged = on_acknowledged
        self.limits = limits
        self._queue: deque[ClientRequest] = deque()
        self._unacknowledged: deque[ClientRequest] = deque()
        """Publications that were sent, in the order of their numbers."""
        self._incarnation = 0
        """Incarnation of the broker that the latest stream was with; 0 before the first stream."""
        self._window = REPEATABLE
        """Publications that may be sent and not acknowledged."""
        self._unanswered: dict[int, ClientRequest] = {}
        self._declared: dict[ClientId, _Declared] = {}
        self._number = 0

    @property
    def waiting(self) -> int:
        """Operations not sent yet."""
        return len(self._queue)

    def submit(
        self, client: ClientId, operation: Operation, id: str = "", body: bytes = b"", published: int = 0
    ) -> int:
        """Hands an operation over; its answer carries the number returned. `published` is `ClientRequest.published`.

        Raises `TooLargeError`, and for a publication `SessionFullError`; the operation is not sent then.
        """
        if len(client) > LONGEST_NAME or len(id) > LONGEST_NAME:
            raise TooLargeError(
                f"{operation.name.lower()} {shortened(id)} of client {shortened(client)}: a name has more than the"
                f" {LONGEST_NAME} characters that brokers take"
            )
        names = _CHARACTER_BYTES * (len(client) + len(id))
        if len(body) + names + _REQUEST_OVERHEAD > self.limits.message_bytes:
            raise TooLargeError(
                f"{operation.name.lower()} {id!r} of client {client!r} has {len(body)} bytes;"
                f" brokers take at most {self.limits.message_bytes} (limits.message_bytes) with all that goes with it"
            )
        queue = self._queue
        if operation is _PUBLISH and len(queue) >= self.limits.queue:
            raise SessionFullError(f"{len(queue)} operations wait for {self._address} already")
        self._number += 1
        request = ClientRequest(client, self._number, operation, id, body, published)
        if operation is not _PUBLISH:
            self._unanswered[request.number] = request
            self._remember(request)
        queue.append(request)
        self.on_waiting()
        return request.number

    def forget_publications(self) -> None:
        """Gives up all publications that were not acknowledged, as a client does that crashes and starts anew."""
        self._unacknowledged.clear()
        self._queue = deque(request for request in self._queue if request.operation is not _PUBLISH)

    def succeed(self, former: ClientRequests) -> None:
        """Takes over what a former session of the same clients with another broker leaves, before a stream is open:
        declarations in force, operations that were not answered, and publications that were not sent.

        Publications that were sent and not acknowledged stay with the former session: this broker does not know which
        of them the other one has handled.
        """
        self._number = former._number
        self._declared = {
            client: _Declared(dict(declared.advertisements), dict(declared.subscriptions))
            for client, declared in former._declared.items()
        }
        self._unanswered = dict(former._unanswered)
        self._queue, former._queue = former._queue, deque()
        self._incarnation = _ELSEWHERE

    def take(self) -> list[ClientRequest]:
        """The next operations for one frame."""
        queue, unacknowledged = self._queue, self._unacknowledged
        if unacknowledged and queue and queue[0].number - unacknowledged[0].number >= self.limits.unacknowledged:
            return []
        taken: list[ClientRequest] = []
        room = self._window - len(unacknowledged)
        for _ in range(min(len(queue), self.limits.batch)):
            if queue[0].operation is _PUBLISH:
                if not room:
                    break
                room -= 1
                unacknowledged.append(queue[0])
            taken.append(queue.popleft())
        return taken

    def receive(self, frame: BrokerFrame) -> None:
        """A frame of the broker has come, other than its welcome.

        Its events are passed on, unless they only repeat an earlier confirmation, or announce the start of a
        subscription that has been replaced or withdrawn.
        """
        for event in frame.events:
            if event.outcome is _NOTIFIED or event.outcome is _LOST:
                self._on_event(event)
            elif event.outcome is not _STARTED:
                self._answered(event)
            elif self._stands(event.clients[0], event.id):
                self._on_event(event)
        if frame.acknowledged:
            self.acknowledge(frame.acknowledged)
            if self._queue:
                self.on_waiting()

    def acknowledge(self, number: int) -> None:
        """The broker has accepted all publications up to this number, but for those that it rejected before."""
        unacknowledged, on_acknowledged = self._unacknowledged, self._on_acknowledged
        while unacknowledged and unacknowledged[0].number <= number:
            on_acknowledged(unacknowledged.popleft())

    def begin(self, welcome: Welcome) -> None:
        """A stream is open. Every one but the first begins with what a former one left."""
        former, self._incarnation = self._incarnation, welcome.incarnation
        self._window = MOST_IN_DOUBT if welcome.recognises_repeats else REPEATABLE
        if not former:
            return
        if former != welcome.incarnation and not welcome.recognises_repeats:
            self._unacknowledged.clear()
        self._resubmit()

    def _resubmit(self) -> None:
        """Queues the requests of a new stream: advertisements and subscriptions in force go first.

        Operations that a new session makes unnecessary, such as withdrawals, are answered as confirmed.
        """
        unanswered = {
            (request.client, request.operation, request.id): number for number, request in self._unanswered.items()
        }
        publications = [request for request in self._queue if request.operation is Operation.PUBLISH]
        declared = [
            msgspec.structs.replace(request, number=unanswered.get((request.client, request.operation, request.id), 0))
            for request in self._all_declared()
        ]
        self._queue = deque((*declared, *self._unacknowledged, *publications))
        self._unacknowledged.clear()
        carried = {request.number for request in declared}
        for request in list(self._unanswered.values()):
            if request.number not in carried:
                self._answered(answer(request, Outcome.CONFIRMED))

    def _answered(self, event: ClientEvent) -> None:
        request = self._unanswered.pop(event.number, None)
        if request is None and event.outcome is Outcome.CONFIRMED:
            return  # submitted again after a reconnection, and confirmed before
        if request is not None and event.outcome is Outcome.REJECTED:
            self._forget(request)
        elif request is None:
            self._discard_rejected(event.number)
        self._on_event(event)

    def _discard_rejected(self, number: int) -> None:
        """A publication was rejected. Those before it were accepted, because none of them was rejected."""
        self.acknowledge(number - 1)
        if self._unacknowledged and self._unacknowledged[0].number == number:
            self._unacknowledged.popleft()

    # Advertisements and subscriptions in force, which a new stream submits again

    def _remember(self, request: ClientRequest) -> None:
        if request.operation is Operation.DETACH:
            self._declared.pop(request.client, None)
            return
        declared = self._declared.setdefault(request.client, _Declared())
        if request.operation is Operation.ADVERTISE:
            declared.advertisements[request.id] = request
        elif request.operation in SUBSCRIBING:
            declared.subscriptions[request.id] = request
        elif request.operation is Operation.UNADVERTISE:
            declared.advertisements.pop(request.id, None)
        elif request.operation is Operation.UNSUBSCRIBE:
            declared.subscriptions.pop(request.id, None)

    def _forget(self, request: ClientRequest) -> None:
        """Forgets a request that the broker refused."""
        declared = self._declared.get(request.client)
        if declared is None:
            return
        if request.operation is Operation.ADVERTISE:
            declared.advertisements.pop(request.id, None)
        elif request.operation in SUBSCRIBING:
            declared.subscriptions.pop(request.id, None)

    def _stands(self, client: ClientId, name: str) -> bool:
        """True for a subscription that the broker has confirmed: its answers come in the order of the requests, so one
        that is not confirmed yet cannot have started."""
        declared = self._declared.get(client)
        request = None if declared is None else declared.subscriptions.get(name)
        return request is not None and request.number not in self._unanswered

    def _all_declared(self) -> Iterator[ClientRequest]:
        for client, declared in self._declared.items():
            yield ClientRequest(client, 0, Operation.ATTACH)
            yield from declared.advertisements.values()
            yield from declared.subscriptions.values()
