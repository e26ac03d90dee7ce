"""The subscriptions and advertisements that clients had: when each was made and withdrawn, by what clients saw."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from analysis.reading.reading import Declared
from broker_service.language import ContentError, Predicate, operator_named
from record.log import Event, PredicateRecord

_MADE = frozenset({Event.SUBSCRIBE, Event.ADVERTISE})
_WITHDRAWN = frozenset({Event.UNSUBSCRIBE, Event.UNADVERTISE})
_OPPOSITE = {Event.UNSUBSCRIBE: Event.SUBSCRIBE, Event.UNADVERTISE: Event.ADVERTISE}


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifetime:
    """One subscription or advertisement of a client, as the client saw it. Nanoseconds; null is never."""

    variant: int
    made: Event
    """SUBSCRIBE or ADVERTISE."""
    client: str
    node: str
    """The driver that speaks for the client."""
    broker: str | None
    predicates: tuple[Predicate, ...] | None
    """Null when they are none of the language; then it can match nothing."""
    issued: int
    confirmed: int | None
    withdrawn: int | None
    """When it was withdrawn, or replaced by another of the same name."""
    gone: int | None
    """When that was confirmed."""


@dataclass(slots=True)
class _Said:
    """One operation and its answer."""

    declared: Declared
    answered: int | None = None
    rejected: bool = False


def lifetimes(declared: Iterable[Declared]) -> list[Lifetime]:
    """What clients made and were not told is rejected, in the order in which they said it."""
    named: dict[tuple[int, Event, str, str], list[Declared]] = {}
    for one in sorted(declared, key=lambda one: one.at):
        kind = Event(one.kind)
        named.setdefault((one.variant, _OPPOSITE.get(kind, kind), one.client, one.id), []).append(one)
    found = [(said.declared.at, life) for of_name in named.values() for said, life in _lives(of_name)]
    found.sort(key=lambda pair: pair[0])
    return [life for _, life in found]


def _lives(of_name: Iterable[Declared]) -> Iterator[tuple[_Said, Lifetime]]:
    accepted = [said for said in _answered(of_name) if not said.rejected]
    for number, said in enumerate(accepted):
        made = said.declared
        if made.event not in _MADE:
            continue
        end = accepted[number + 1] if number + 1 < len(accepted) else None
        yield (
            said,
            Lifetime(
                variant=made.variant,
                made=made.event,
                client=made.client,
                node=made.node,
                broker=made.broker,
                predicates=_predicates(made.predicates),
                issued=made.at.time,
                confirmed=said.answered,
                withdrawn=None if end is None else end.declared.at.time,
                gone=None if end is None else end.answered,
            ),
        )


def _answered(of_name: Iterable[Declared]) -> list[_Said]:
    """Operations under one name, in order; brokers answer those of a kind in the order in which they were made."""
    said: list[_Said] = []
    open_: dict[str, deque[_Said]] = {}
    for one in of_name:
        if one.event in _MADE or one.event in _WITHDRAWN:
            said.append(_Said(one))
            open_.setdefault(one.kind, deque()).append(said[-1])
        elif waiting := open_.get(one.kind):
            answered = waiting.popleft()
            answered.answered = one.at.time
            answered.rejected = one.event is Event.REJECTED
    return said


def _predicates(records: Iterable[PredicateRecord]) -> tuple[Predicate, ...] | None:
    try:
        return tuple(_predicate(record) for record in records)
    except ContentError:
        return None


def _predicate(record: PredicateRecord) -> Predicate:
    value = record.number if record.string is None else record.string
    if value is None:
        raise ContentError(f"the predicate on {record.attribute} has no value")
    return Predicate(record.attribute, operator_named(record.operator, value), value)
