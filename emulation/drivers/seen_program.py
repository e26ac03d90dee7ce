"""The log of a client program, by what passes between it and its broker at its site.

Without I/O. A program's requests are logged as drivers log the operations that they issue (`Clients`), and its broker's
events as drivers log those that they receive, so that a judge reads both alike.

1. A program speaks for one client, its own, and only once it has attached.
2. A publication whose number its session has had already is a repetition, and not logged again.
3. Whatever ends a stream withdraws what the client had declared on it (S-6 of the contract), and so do DETACH and a
   further ATTACH (S-12, S-13). The withdrawals are logged with their confirmation at that moment. What the broker had
   not answered by then counts as answered by the end. So what was in flight when a stream ended is not judged.
4. A session that wants numbers gets each notification under the next one. On a further stream of the session the first
   may leave some out, which were lost with the former stream, or begin anew, because its broker does not know the
   session any more. A broker that gives no number to the first one of a stream does not number.
5. Detections of composite subscriptions depend on the times of publications. So each publication is passed on with that
   of its record, whatever time the program states, and a repetition with that of the first.
6. From the first acknowledgement of a program on, what came on a stream and was not acknowledged at its end is logged
   as unprocessed, but for detections. None acknowledges what has not come on the same stream.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import NamedTuple

import msgspec

from broker_service.language import ContentError
from broker_service.language.composite_subscription import CompositeSubscription
from broker_service.language.composite_wire import decode_composite
from broker_service.language.content import decode_predicates, decode_publication
from broker_service.language.formatting import format_composite
from broker_service.language.records import predicate_record
from broker_service.messages import BrokerFrame, ClientEvent, ClientFrame, ClientRequest, Operation, Outcome
from emulation.drivers.clients import Clients, Session, SessionEnd
from emulation.drivers.driver_operations import ReadyOperation
from record.log import Event, PredicateRecord
from scenario.workload.operations import OperationKind

_WITHDRAWING: Mapping[OperationKind, OperationKind] = {
    OperationKind.ADVERTISE: OperationKind.UNADVERTISE,
    OperationKind.SUBSCRIBE: OperationKind.UNSUBSCRIBE,
}
_WITHDRAWN: Mapping[OperationKind, OperationKind] = {end: made for made, end in _WITHDRAWING.items()}
_DECLARING = frozenset((*_WITHDRAWING, OperationKind.COMPOSE))
_NAMED_WITH: Mapping[OperationKind, OperationKind] = {**_WITHDRAWN, OperationKind.COMPOSE: OperationKind.SUBSCRIBE}
"""The kind of declaration among whose names the id of an operation of another kind is."""
_KINDS: Mapping[Operation, OperationKind] = {
    Operation.ADVERTISE: OperationKind.ADVERTISE,
    Operation.UNADVERTISE: OperationKind.UNADVERTISE,
    Operation.SUBSCRIBE: OperationKind.SUBSCRIBE,
    Operation.UNSUBSCRIBE: OperationKind.UNSUBSCRIBE,
    Operation.PUBLISH: OperationKind.PUBLISH,
    Operation.COMPOSE: OperationKind.COMPOSE,
}
_ANSWERS = frozenset({Outcome.CONFIRMED, Outcome.REJECTED})
_WORDS: Mapping[Operation, str] = {
    Operation.ADVERTISE: "an advertisement",
    Operation.SUBSCRIBE: "a subscription",
    Operation.COMPOSE: "a composite subscription",
}


class NonsenseError(Exception):
    """A program broke a rule of the client protocol; the text is a sentence without its subject, the program."""


class HandedOver(Session):
    """Takes the operations of programs, which have handed them over themselves, and numbers them."""

    def __init__(self) -> None:
        self.last = 0
        """The number of the latest operation."""
        self.published = 0
        """The time of the latest publication by the run's clock."""

    def submit(self, client: str, operation: Operation, id: str = "", body: bytes = b"", published: int = 0) -> int:
        self.last += 1
        self.published = published
        return self.last


class _Asked(NamedTuple):
    """A request that is to be answered."""

    number: int
    """The program's own."""
    id: str
    serial: int
    """The number by which `Clients` knows it; 0 for one that it does not."""
    ends: Mapping[int, str]
    """Withdrawals that it brings about, by that number, with the ids of what they withdraw."""
    declaration: tuple[OperationKind, str] | None = None
    """The declaration that it makes or withdraws."""
    stood: bool = False
    """True where that stood before."""


@dataclass(slots=True)
class SeenProgram:
    """One client program."""

    client: str
    broker: str
    clients: Clients
    """The log."""
    handed_over: HandedOver
    """The session of `clients`."""
    attached: SeenStream | None = None
    """The stream on which the client is attached."""
    has_attached: bool = False
    """True once it has asked for anything."""
    published: dict[str, int] = field(default_factory=dict)
    """The greatest number of a publication, by session."""
    stamps: dict[str, dict[int, int]] = field(default_factory=lambda: defaultdict(dict))
    """The times of publications that their broker has not acknowledged, by session and by number, in ascending
    order."""
    notified: dict[str, int] = field(default_factory=dict)
    """The number of the latest notification, by session."""
    acknowledges: bool = False
    """True once it has acknowledged a notification."""

    @property
    def end(self) -> SessionEnd:
        return SessionEnd(self.broker, self.client)


class SeenNotifications:
    """The numbers of the notifications of one stream, and the acknowledgements."""

    def __init__(self, program: SeenProgram) -> None:
        self._program = program
        self._session = ""
        self._numbered = False
        self._latest = 0
        """The number of the latest one that came on this stream; 0: none came."""
        self._unprocessed: deque[ClientEvent] = deque()
        """Notifications that the program has not acknowledged."""

    def begin(self, frame: ClientFrame) -> None:
        """The first frame of the stream is passed on."""
        self._session, self._numbered = frame.session, frame.numbered

    def add(self, event: ClientEvent) -> None:
        """A notification has come. One whose number is not the next is logged."""
        if not self._numbered:
            return
        if not (event.number or self._latest):
            self._numbered = False
            return
        program, number = self._program, event.number
        former = program.notified.get(self._session, 0)
        due = (self._latest or former) + 1
        begins = not self._latest and former and (number > former or number == 1)
        if number != due and not begins:
            program.clients.note_notification(Event.MISNUMBERED, program.end, event, f"{due} was due")
        self._latest = program.notified[self._session] = number
        if not event.publications:
            self._unprocessed.append(event)

    def acknowledge(self, number: int) -> None:
        """The program acknowledges the notifications up to this number. Raises `NonsenseError`."""
        if number > self._latest:
            raise NonsenseError(
                f"acknowledged notification {number}, and had got {self._latest or 'none'} on this stream"
            )
        self._program.acknowledges = True
        while self._unprocessed and self._unprocessed[0].number <= number:
            self._unprocessed.popleft()

    def end(self) -> None:
        """Logs what was not acknowledged on the stream, which has ended."""
        if self._program.acknowledges:
            for event in self._unprocessed:
                self._program.clients.note_notification(Event.UNPROCESSED, self._program.end, event)
        self._unprocessed.clear()


class SeenStream:
    """One stream of a program, from the broker's welcome on."""

    def __init__(self, program: SeenProgram) -> None:
        self._program = program
        self._on_event = program.clients.receiver(program.end)
        self._on_acknowledged = program.clients.acknowledgement_log(program.broker)
        self._session = ""
        self._attached = False
        self._asked: deque[_Asked] = deque()
        """Requests without an answer, in order."""
        self._standing: dict[tuple[OperationKind, str], None] = {}
        """Declarations that are made and not withdrawn: their kind, and the client's name for each."""
        self._unacknowledged: deque[ClientRequest] = deque()
        """Publications that the broker has not acknowledged."""
        self._notifications = SeenNotifications(program)

    def ask(self, frame: ClientFrame) -> Sequence[ClientRequest]:
        """Logs the requests of a frame. Returns them as they are to be passed on. Raises `NonsenseError`, and logs
        nothing."""
        read = list(self._read(frame.requests))
        if frame.acknowledged:
            self._notifications.acknowledge(frame.acknowledged)
        if frame.session:
            self._session = frame.session
            self._notifications.begin(frame)
        for request, operation in read:
            if operation is not None:
                self._issue(request, operation)
            elif request.operation is Operation.ATTACH:
                self._attach(request)
            else:
                self._asked.append(_Asked(request.number, request.id, 0, self._withdraw_all()))
                self._program.attached = None
        return [self._stamped(request) for request, _ in read]

    def tell(self, frame: BrokerFrame) -> None:
        """Logs the events of a frame that has come."""
        for event in frame.events:
            self._on_event(self._numbered(event) if event.outcome in _ANSWERS else event)
            if event.outcome is Outcome.NOTIFIED:
                self._notifications.add(event)
        while self._unacknowledged and self._unacknowledged[0].number <= frame.acknowledged:
            self._on_acknowledged(self._unacknowledged.popleft())
        stamps = self._program.stamps[self._session]
        for number in list(takewhile(lambda number: number <= frame.acknowledged, stamps)):
            del stamps[number]

    def end(self) -> None:
        """Logs what the end of the stream means, however it came."""
        self._notifications.end()
        for asked in self._asked:
            self._answer(asked)
        self._asked.clear()
        self._confirm(self._withdraw_all())
        if self._program.attached is self:
            self._program.attached = None

    # Requests

    def _read(self, requests: Iterable[ClientRequest]) -> Iterable[tuple[ClientRequest, ReadyOperation | None]]:
        """The requests with the operations that they make, as they are logged. Raises `NonsenseError`."""
        attached = self._attached and self._program.attached is self
        for request in requests:
            if request.client != self._program.client:
                raise NonsenseError(f"spoke for the client {request.client!r}, which it is not")
            if request.operation is Operation.ATTACH:
                attached = True
            elif not attached:
                raise NonsenseError(f"asked for {request.operation.name} before it had attached")
            elif request.operation is Operation.DETACH:
                attached = False
            yield request, self._operation(request)

    def _operation(self, request: ClientRequest) -> ReadyOperation | None:
        kind = _KINDS.get(request.operation)
        if kind is None:
            return None
        numbers: dict[str, float] | None = None
        strings: dict[str, str] | None = None
        predicates: list[PredicateRecord] | None = None
        composite: CompositeSubscription | None = None
        try:
            if kind is OperationKind.PUBLISH:
                attributes = decode_publication(request.body).attributes
                numbers = {name: value for name, value in attributes.items() if not isinstance(value, str)}
                strings = {name: value for name, value in attributes.items() if isinstance(value, str)}
            elif kind in _WITHDRAWING:
                predicates = [predicate_record(predicate) for predicate in decode_predicates(request.body)]
            elif kind is OperationKind.COMPOSE:
                composite = decode_composite(request.body)
        except ContentError as error:
            what = _WORDS.get(request.operation, "a publication")
            raise NonsenseError(f"sent {what} {request.id!r} that cannot be read: {error}") from None
        if composite is not None and composite.within is None:
            raise NonsenseError(f"sent a composite subscription {request.id!r} without a window, by which it is judged")
        return ReadyOperation(
            0, request.client, self._program.broker, kind, request.id, request.body,
            numbers or None, strings or None, predicates,
            None if composite is None else format_composite(composite.pattern),
            None if composite is None else composite.within,
        )  # fmt: skip

    def _attach(self, request: ClientRequest) -> None:
        """Begins anew: what the client had declared, on this stream or another one, is withdrawn."""
        former = self._program.attached
        ends = {} if former is None else former._withdraw_all()
        self._program.attached, self._attached, self._program.has_attached = self, True, True
        self._asked.append(_Asked(request.number, request.id, 0, ends))

    def _issue(self, request: ClientRequest, operation: ReadyOperation) -> None:
        kind, id = operation.kind, operation.id
        if kind is OperationKind.PUBLISH:
            if self._is_repetition(request):
                return
            self._unacknowledged.append(request)
        serial = self._log(operation)
        if kind is OperationKind.PUBLISH:
            self._program.stamps[self._session][request.number] = self._program.handed_over.published
            return
        declaration = _NAMED_WITH.get(kind, kind), id
        self._asked.append(_Asked(request.number, id, serial, {}, declaration, declaration in self._standing))
        self._set(declaration, kind in _DECLARING)

    def _stamped(self, request: ClientRequest) -> ClientRequest:
        """The request with the time at which it was logged, if it is a publication."""
        stamp = self._program.stamps[self._session].get(request.number)
        if request.operation is not Operation.PUBLISH or stamp is None:
            return request
        return msgspec.structs.replace(request, published=stamp)

    def _set(self, declaration: tuple[OperationKind, str], stands: bool) -> None:
        if stands:
            self._standing[declaration] = None
        else:
            self._standing.pop(declaration, None)

    def _is_repetition(self, request: ClientRequest) -> bool:
        published, session = self._program.published, self._session
        if not session:
            return False
        if request.number <= published.get(session, 0):
            return True
        published[session] = request.number
        return False

    def _withdraw_all(self) -> Mapping[int, str]:
        """Logs the withdrawal of what stands. Returns the numbers of these operations, with the ids of what they
        withdraw."""
        ends = {}
        for kind, id in self._standing:
            withdrawal = _WITHDRAWING[kind]
            serial = self._log(
                ReadyOperation(0, self._program.client, self._program.broker, withdrawal, id, b"", None, None, None)
            )
            ends[serial] = id
        self._standing.clear()
        return ends

    def _log(self, operation: ReadyOperation) -> int:
        """Logs an operation. Returns its number."""
        program = self._program
        program.clients.issue(operation)
        return program.handed_over.last

    # Events

    def _numbered(self, event: ClientEvent) -> ClientEvent:
        """An answer with the number by which the log knows the request; 0 for a publication, and where the broker
        answers what nobody asked."""
        asked = next((one for one in self._asked if (one.number, one.id) == (event.number, event.id)), None)
        if asked is None:
            return msgspec.structs.replace(event, number=0)
        self._asked.remove(asked)
        if event.outcome is Outcome.REJECTED and asked.declaration is not None:
            self._set(asked.declaration, asked.stood)
        self._confirm(asked.ends)
        return msgspec.structs.replace(event, number=asked.serial)

    def _answer(self, asked: _Asked) -> None:
        """Logs the answer to a request that the end of the stream gives."""
        self._confirm({asked.serial: asked.id} if asked.serial else {})
        self._confirm(asked.ends)

    def _confirm(self, operations: Mapping[int, str]) -> None:
        for serial, id in operations.items():
            self._on_event(ClientEvent(Outcome.CONFIRMED, (self._program.client,), serial, id))
