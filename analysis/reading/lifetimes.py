"""Lifetimes of subscriptions, composite subscriptions and advertisements: the times at which each was made and
withdrawn, by the logs of clients.

Composite subscriptions share the names of their client's subscriptions. To make one again with the same pattern and
window has no effect.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from operator import attrgetter, itemgetter

import msgspec

from analysis.reading.log_events import ClientOperation, LogPosition
from record.log import Event, PredicateRecord

_decode = msgspec.json.Decoder(list[PredicateRecord]).decode
_PLAIN = frozenset({Event.SUBSCRIBE, Event.ADVERTISE})
_MADE = frozenset({Event.SUBSCRIBE, Event.ADVERTISE, Event.COMPOSE})
_WITHDRAWN = frozenset({Event.UNSUBSCRIBE, Event.UNADVERTISE})
_NAMED_WITH = {
    Event.UNSUBSCRIBE: Event.SUBSCRIBE,
    Event.COMPOSE: Event.SUBSCRIBE,
    Event.UNADVERTISE: Event.ADVERTISE,
}
"""The operation with whose names those of another are shared."""
_NAME_SPACES = {event.value: _NAMED_WITH.get(event, event) for event in Event}
"""Kind of operation whose names a kind shares, by kind."""


class DeclarationLifetime(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One subscription, composite subscription or advertisement of a client, as the client saw it.

    Nanoseconds; None stands for never.
    """

    variant: int
    made: Event
    """SUBSCRIBE, COMPOSE or ADVERTISE."""
    client: str
    name: str = ""
    """The client's own."""
    node: str
    """The driver that runs the client."""
    broker: str | None
    predicates: tuple[PredicateRecord, ...] = ()
    """Predicates of a subscription or an advertisement, as recorded; they may be outside the language."""
    pattern: str | None = None
    """Notation of a composite subscription, as recorded; it may be outside the language."""
    within: int | None = None
    """Nanoseconds of the window of a composite subscription."""
    issued: int
    confirmed: int | None
    withdrawn: int | None
    """The time at which it was withdrawn, or replaced by another under the same name."""
    gone: int | None
    """The time at which the withdrawal was confirmed."""
    announced: tuple[int, ...] = ()
    """The times at which the subscription was announced as started: at most one for each session of its client."""


class RejectedOperation(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A subscription, composite subscription or advertisement that a broker rejected, or the withdrawal of one that the
    same broker had confirmed."""

    event: Event
    """The operation, as issued."""
    client: str
    name: str
    """The client's own name for the declaration."""
    broker: str | None
    at: int
    """The time of the answer, nanoseconds."""
    reason: str
    """Reason that the broker gave."""
    declared: DeclarationLifetime
    """The content of the operation, as if it had been accepted; of a withdrawal, what stood under the name until then,
    by the broker's answers."""

    @property
    def withdraws(self) -> bool:
        """True of a withdrawal."""
        return self.event in _WITHDRAWN


DeclarationAt = tuple[LogPosition, DeclarationLifetime]
"""A lifetime, and the position of the record with which it begins."""


@dataclass(slots=True)
class _Answered:
    """One operation and its answer."""

    operation: ClientOperation
    answered: int | None = None
    rejected: bool = False
    reason: str = ""
    announced: list[int] = field(default_factory=list)


def lifetimes(operations: Iterable[ClientOperation]) -> list[DeclarationLifetime]:
    """The subscriptions, composite subscriptions and advertisements that clients issued and brokers did not reject, in
    the order issued."""
    found = [made for under_name in _by_name(operations) for made in _of_name(under_name)]
    found.sort(key=itemgetter(0))
    return [life for _, life in found]


def rejections(operations: Iterable[ClientOperation]) -> list[RejectedOperation]:
    """The subscriptions, composite subscriptions and advertisements that brokers rejected, and the withdrawals that
    they rejected of what they had confirmed and not withdrawn since."""
    rejected = {
        (operation.variant, operation.client, operation.id) for operation in operations if _is_rejection(operation)
    }
    if not rejected:
        return []
    concerned = (made for made in operations if (made.variant, made.client, made.id) in rejected)
    return [found for under_name in _by_name(concerned) for found in _rejected_of_name(under_name)]


def _is_rejection(operation: ClientOperation) -> bool:
    return operation.event is Event.REJECTED


def _rejected_of_name(under_name: Iterable[ClientOperation]) -> Iterator[RejectedOperation]:
    """Rejected operations under one name. A withdrawal was due to be confirmed when the accepted operation before it
    had made what it withdraws, with the same broker, and was confirmed."""
    accepted: _Answered | None = None
    for answered in _with_answers(under_name):
        if not answered.rejected:
            accepted = answered
        elif answered.operation.event in _MADE:
            yield _rejected(answered, _lifetime(answered.operation, None))
        elif accepted is not None and accepted.operation.event in _MADE and accepted.answered is not None:
            stood = _lifetime(accepted.operation, accepted.answered, answered)
            if (stood.node, stood.broker) == (answered.operation.node, answered.operation.broker):
                yield _rejected(answered, stood)


def _rejected(answered: _Answered, declared: DeclarationLifetime) -> RejectedOperation:
    operation = answered.operation
    return RejectedOperation(
        event=operation.event,
        client=operation.client,
        name=operation.id,
        broker=operation.broker,
        at=answered.answered or operation.at.time,
        reason=answered.reason,
        declared=declared,
    )


def _by_name(operations: Iterable[ClientOperation]) -> Iterable[list[ClientOperation]]:
    """The operations and answers under each name, in order of time."""
    named: dict[tuple[int, Event, str, str], list[ClientOperation]] = {}
    for operation in sorted(operations, key=attrgetter("at")):
        key = operation.variant, _NAME_SPACES[operation.kind], operation.client, operation.id
        named.setdefault(key, []).append(operation)
    return named.values()


def _of_name(under_name: Sequence[ClientOperation]) -> Iterator[DeclarationAt]:
    """The lifetimes under one name: each lasts until the next accepted operation under it."""
    if len(under_name) == 2:
        made, answer = under_name
        if made.event in _PLAIN and answer.event is Event.CONFIRMED and answer.kind == made.kind:
            yield made.at, _lifetime(made, answer.at.time)  # as nearly all, because a name is hardly ever used again
            return
    accepted = _without_repetitions(answered for answered in _with_answers(under_name) if not answered.rejected)
    for number, answered in enumerate(accepted):
        made = answered.operation
        if made.event not in _MADE:
            continue
        end = accepted[number + 1] if number + 1 < len(accepted) else None
        yield made.at, _lifetime(made, answered.answered, end, tuple(answered.announced))


def _lifetime(
    made: ClientOperation, confirmed: int | None, end: _Answered | None = None, announced: tuple[int, ...] = ()
) -> DeclarationLifetime:
    """The lifetime of what an operation declared, given the operation that ended it."""
    return DeclarationLifetime(
        variant=made.variant,
        made=made.event,
        client=made.client,
        name=made.id,
        node=made.node,
        broker=made.broker,
        predicates=_predicates(made.predicates),
        pattern=made.pattern,
        within=made.within,
        issued=made.at.time,
        confirmed=confirmed,
        withdrawn=None if end is None else end.operation.at.time,
        gone=None if end is None else end.answered,
        announced=announced,
    )


def _with_answers(under_name: Iterable[ClientOperation]) -> list[_Answered]:
    """Operations under one name, in order, with their answers: brokers answer those of a kind in the order issued."""
    found: list[_Answered] = []
    unanswered: dict[str, deque[_Answered]] = {}
    for operation in under_name:
        if operation.event in _MADE or operation.event in _WITHDRAWN:
            found.append(_Answered(operation))
            unanswered.setdefault(operation.kind, deque()).append(found[-1])
        elif operation.event is Event.ANNOUNCED:
            if found and found[-1].answered is not None:  # else it is of a former subscription under this name
                found[-1].announced.append(operation.at.time)
        elif waiting := unanswered.get(operation.kind):
            answered = waiting.popleft()
            answered.answered = operation.at.time
            answered.rejected = operation.event is Event.REJECTED
            answered.reason = operation.reason
    return found


def _without_repetitions(accepted: Iterable[_Answered]) -> list[_Answered]:
    """The operations without those that make a composite subscription again that stands already. What is announced
    after such a repetition is the start of the one that stands."""
    found: list[_Answered] = []
    for answered in accepted:
        made = answered.operation
        stands = found[-1].operation if found else None
        repeats = stands is not None and made.event is stands.event is Event.COMPOSE
        if not repeats or stands is None or (made.pattern, made.within) != (stands.pattern, stands.within):
            found.append(answered)
        else:
            found[-1].announced += answered.announced
    return found


@lru_cache(maxsize=16_384)
def _predicates(encoded: bytes) -> tuple[PredicateRecord, ...]:
    return tuple(map(_once, _decode(encoded))) if encoded else ()


def _once(record: PredicateRecord) -> PredicateRecord:
    """The record, the same object for equal ones: thousands of clients have the same few in a run's logs."""
    return _record(record.attribute, record.operator, record.number, record.string)


@lru_cache(maxsize=16_384, typed=True)
def _record(attribute: str, operator: str, number: float | None, string: str | None) -> PredicateRecord:
    return PredicateRecord(attribute=attribute, operator=operator, number=number, string=string)
