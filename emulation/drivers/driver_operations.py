"""Operations made ready to be issued: encoded for the broker and split for the log, ahead of their time."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice, takewhile
from typing import NamedTuple

import msgspec

from broker_service.language import Publication, Value
from broker_service.language.composite_subscription import CompositeSubscription
from broker_service.language.composite_wire import encode_composite
from broker_service.language.content import encode_predicates, encode_publication
from broker_service.language.records import recorded_predicate
from broker_service.messages import Operation
from record.log import Event, PredicateRecord
from scenario.workload.operations import OperationKind, PlannedOperation

LOOK_AHEAD = 50_000
"""Operations that are kept ready."""
PREDICATES_KEPT = 4_096
"""Predicates of operations that are kept with their bodies, those encoded latest."""

REQUESTS: Mapping[OperationKind, Operation] = {
    OperationKind.ADVERTISE: Operation.ADVERTISE,
    OperationKind.UNADVERTISE: Operation.UNADVERTISE,
    OperationKind.SUBSCRIBE: Operation.SUBSCRIBE,
    OperationKind.UNSUBSCRIBE: Operation.UNSUBSCRIBE,
    OperationKind.PUBLISH: Operation.PUBLISH,
    OperationKind.COMPOSE: Operation.COMPOSE,
}

EVENTS: Mapping[OperationKind, Event] = {kind: Event(kind.value) for kind in OperationKind}


class ReadyOperation(msgspec.Struct, frozen=True, gc=False):
    """One operation of one client."""

    at: int
    """Nanoseconds from the start of the workload."""
    client: str
    broker: str
    kind: OperationKind
    id: str
    body: bytes
    numbers: dict[str, float] | None
    strings: dict[str, str] | None
    predicates: list[PredicateRecord] | None
    pattern: str | None = None
    """Notation of a composite subscription; None for any other operation."""
    within: int | None = None
    """The window of a composite subscription, nanoseconds."""


class ReadyContent(NamedTuple):
    """The content of a publication, encoded for the broker and split for the log."""

    body: bytes
    numbers: dict[str, float] | None
    strings: dict[str, str] | None


def ready_content(
    attributes: Mapping[str, Value], encode: Callable[[Publication], bytes] = encode_publication
) -> ReadyContent:
    """Encodes a publication's content with a function. Raises `ContentError` when it is not valid."""
    return ReadyContent(
        encode(Publication(attributes)),
        {name: value for name, value in attributes.items() if not isinstance(value, str)} or None,
        {name: value for name, value in attributes.items() if isinstance(value, str)} or None,
    )


def encode_recorded(predicates: Sequence[PredicateRecord]) -> bytes:
    """The body of a subscription or an advertisement. Raises `ContentError` for a record that is not a predicate."""
    return encode_predicates(tuple(recorded_predicate(record) for record in predicates))


class SharedPredicates:
    """Cache of encoded predicates, because many operations share theirs: the subscriptions of all clients to one
    integer, and the advertisements of all publishers of patterns, each of which names every pattern."""

    def __init__(self) -> None:
        self._encoded: dict[int, tuple[Sequence[PredicateRecord], bytes]] = {}
        """The latest predicates with their bodies, by `id`, which no other object has as long as they are kept."""

    def encode(self, predicates: Sequence[PredicateRecord]) -> bytes:
        """The body that `encode_recorded` returns for these predicates."""
        known = self._encoded.get(id(predicates))
        if known is None:
            if len(self._encoded) >= PREDICATES_KEPT:
                del self._encoded[next(iter(self._encoded))]
            known = self._encoded[id(predicates)] = (predicates, encode_recorded(predicates))
        return known[1]


def ready(
    operation: PlannedOperation,
    make_ready: Callable[[Mapping[str, Value]], ReadyContent] = ready_content,
    encode_declared: Callable[[Sequence[PredicateRecord]], bytes] = encode_recorded,
) -> ReadyOperation:
    """Encodes an operation, with the functions for a publication's attributes and for predicates.

    Raises `ContentError` when it is not valid.
    """
    body = b""
    numbers = strings = None
    if operation.attributes is not None:
        body, numbers, strings = make_ready(operation.attributes)
    elif operation.predicates is not None:
        body = encode_declared(operation.predicates)
    elif operation.pattern is not None:
        body = _encoded_composite(operation.pattern, operation.within)
    return ReadyOperation(
        at=operation.at,
        client=operation.client,
        broker=operation.broker,
        kind=operation.operation,
        id=operation.id,
        body=body,
        numbers=numbers,
        strings=strings,
        predicates=operation.predicates,
        pattern=operation.pattern,
        within=operation.within,
    )


def _encoded_composite(pattern: str, within: int | None) -> bytes:
    from broker_service.language.notation import parse_composite  # noqa: PLC0415 - the parser, for composites alone

    return encode_composite(CompositeSubscription(parse_composite(pattern), within))


class OperationSchedule:
    """The operations still to be issued, in order of time, of which the next `look_ahead` are ready."""

    def __init__(self, operations: Iterable[PlannedOperation], look_ahead: int = LOOK_AHEAD) -> None:
        self._source = iter(operations)
        self._end: int | None = None
        self._ready = deque(map(ready, islice(self._source, look_ahead)))

    @property
    def next_at(self) -> int | None:
        """Time at which the next operation is due; None when none is left."""
        return self._ready[0].at if self._ready else None

    def insert(self, operation: PlannedOperation) -> None:
        """Adds an operation. Raises `ContentError` when it is not valid."""
        if self._end is None or operation.at < self._end:
            waiting = self._ready
            waiting.insert(bisect_right(waiting, operation.at, key=lambda one: one.at), ready(operation))

    def end_at(self, end: int) -> None:
        """Drops the operations from this time on, nanoseconds from the start of the workload."""
        self._end = end
        self._source = takewhile(lambda operation: operation.at < end, self._source)
        while self._ready and self._ready[-1].at >= end:
            self._ready.pop()

    def due(self, until: int, most: int) -> list[ReadyOperation]:
        """Takes the operations that are due, `most` at most, and makes as many further ones ready."""
        waiting = self._ready
        taken: list[ReadyOperation] = []
        while waiting and waiting[0].at <= until and len(taken) < most:
            taken.append(waiting.popleft())
        waiting.extend(map(ready, islice(self._source, len(taken))))
        return taken
