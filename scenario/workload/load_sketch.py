"""A description of a workload, drawn while its operations pass by.

Amounts are exact. All else rests on random samples of publications and subscriptions, which stay small however long the
run is; so a description costs a run next to nothing. The samples are drawn alike each time.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Generic, TypeVar

from msgspec import UNSET

from broker_service.language import CLASS, Operator, Predicate, Publication, Value
from broker_service.language.content import all_hold, encode_publication
from broker_service.language.records import recorded_predicate
from record.load import Amounts, Course, Distribution, Load, Popularity, PopularValue
from record.time_units import SECOND
from scenario.workload.detections import PublicationSample
from scenario.workload.operations import OperationKind, PlannedOperation

_PARTS = 40
"""Parts of the join phase and the run phase over which amounts are counted."""
_SAMPLED = 300
"""Publications, and subscriptions, that are kept at most."""
_POPULAR = 8
"""Values that are shown."""
_Kept = TypeVar("_Kept")
_MAKING = {OperationKind.ADVERTISE, OperationKind.SUBSCRIBE, OperationKind.COMPOSE}


@dataclass(slots=True)
class _Wanted:
    """A subscription of the sample."""

    predicates: tuple[Predicate, ...]
    begins: int
    ends: float = inf


@dataclass(slots=True)
class _Sample(Generic[_Kept]):
    """A random sample of all that is offered, of which each has the same chance (Vitter's algorithm R).

    Every so many-th would be a bad one: publishers that take turns would be one publisher in it.
    """

    kept: list[_Kept] = field(default_factory=list)
    offered: int = 0
    _rng: random.Random = field(default_factory=lambda: random.Random(0))

    def offer(self, make: Callable[[], _Kept]) -> None:
        """Counts one more, which is made and kept if it is drawn."""
        self.offered += 1
        if len(self.kept) < _SAMPLED:
            self.kept.append(make())
        elif (place := int(self._rng.random() * self.offered)) < _SAMPLED:
            self.kept[place] = make()


class LoadSketch:
    """Collects a description of a workload."""

    def __init__(self, variant: str, *, join: float, run: float, stretch: float = 1.0) -> None:
        """`join` and `run` are the durations of the phases in seconds; `stretch` is the factor by which the times of
        operations are longer."""
        self._variant = variant
        self._join, self._stretch = join, stretch
        self._part = max(round((join + run) * stretch * SECOND) // _PARTS, 1)
        self._published, self._changed = [0] * _PARTS, [0] * _PARTS
        self._publishers, self._subscribers = Counter[str](), set[str]()
        self._kinds = Counter[OperationKind]()
        self._publications = _Sample[PlannedOperation]()
        self._subscriptions = _Sample[_Wanted]()
        self._composites = _Sample[PlannedOperation]()
        self._published_from: int | None = None
        self._published_to = 0
        self._standing: dict[tuple[str, str], _Wanted] = {}

    def add(self, operation: PlannedOperation) -> None:
        """Adds an operation. Operations must be added in order of time."""
        kind, part = operation.operation, min(operation.at // self._part, _PARTS - 1)
        if kind is OperationKind.PUBLISH:
            self._published[part] += 1
            self._publishers[operation.client] += 1
            self._publications.offer(lambda: operation)
            self._published_to = operation.at
            if self._published_from is None:
                self._published_from = operation.at
            return
        self._changed[part] += 1
        self._kinds[kind] += 1
        if kind is OperationKind.SUBSCRIBE:
            self._subscribers.add(operation.client)
            self._subscriptions.offer(lambda: self._begun(operation))
        elif kind is OperationKind.COMPOSE:
            self._subscribers.add(operation.client)
            self._composites.offer(lambda: operation)
        elif kind is OperationKind.UNSUBSCRIBE:
            ended = self._standing.pop((operation.client, operation.id), None)
            if ended is not None:
                ended.ends = operation.at

    def _begun(self, operation: PlannedOperation) -> _Wanted:
        predicates = tuple(map(recorded_predicate, operation.predicates or ()))
        wanted = self._standing[operation.client, operation.id] = _Wanted(predicates, operation.at)
        return wanted

    def load(self) -> Load:
        """The description of all that was added."""
        publications, wanted = self._publications.kept, self._subscriptions.kept
        matched = [[_matched(one, made) for one in wanted] for made in publications]
        scale = self._subscriptions.offered / len(wanted) if wanted else 0.0
        return Load(
            variant=self._variant,
            amounts=self._amounts(),
            run_begins=self._join,
            course=Course(self._part / self._stretch / SECOND, self._published, self._changed),
            busiest=self._busiest(),
            publications_compared=len(publications),
            subscriptions_compared=len(wanted),
            sizes=_distribution(len(encode_publication(Publication(_content(made)))) for made in publications),
            matches=_distribution(scale * sum(map(bool, row)) for row in matched),
            unmatched=sum(not any(row) for row in matched) / len(matched) if matched else 0.0,
            selectivity=_distribution(_selectivities(matched)),
            detections=self._detections() if self._composites.offered else UNSET,
            popularity=_popularity(publications, wanted),
        )

    def _detections(self) -> Distribution | None:
        begin = self._published_to if self._published_from is None else self._published_from
        publications = PublicationSample(
            [_content(made) for made in self._publications.kept],
            self._publications.offered,
            (self._published_to - begin) / SECOND,
        )
        return _distribution(map(publications.detections, self._composites.kept))

    def _amounts(self) -> Amounts:
        kinds = self._kinds
        return Amounts(
            advertisements=kinds[OperationKind.ADVERTISE],
            subscriptions=kinds[OperationKind.SUBSCRIBE],
            composites=kinds[OperationKind.COMPOSE],
            withdrawals=sum(count for kind, count in kinds.items() if kind not in _MAKING),
            publications=self._publishers.total(),
            publishers=len(self._publishers),
            subscribers=len(self._subscribers),
        )

    def _busiest(self) -> float:
        publishers = self._publishers
        first = publishers.most_common(max(len(publishers) // 10, 1))
        return sum(count for _, count in first) / publishers.total() if publishers else 0.0


def sketched(sketch: LoadSketch, operations: Iterable[PlannedOperation]) -> Iterator[PlannedOperation]:
    """The operations, each of which is added to the sketch when it is taken."""
    for operation in operations:
        sketch.add(operation)
        yield operation


def _content(made: PlannedOperation) -> Mapping[str, Value]:
    return made.attributes or {}


def _matched(wanted: _Wanted, made: PlannedOperation) -> bool | None:
    """True when a subscription that stands matches a publication; None when it does not stand then."""
    if not wanted.begins <= made.at < wanted.ends:
        return None
    return all_hold(wanted.predicates, _content(made))


def _selectivities(matched: Sequence[Sequence[bool | None]]) -> Iterator[float]:
    """The share of publications that each subscription matches of those made while it stands."""
    for column in zip(*matched, strict=True):
        seen = [one for one in column if one is not None]
        if seen:
            yield sum(seen) / len(seen)


def _popularity(publications: Sequence[PlannedOperation], wanted: Sequence[_Wanted]) -> Popularity | None:
    named: dict[str, Counter[Value]] = {}
    for one in wanted:
        for predicate in one.predicates:
            if predicate.operator in (Operator.EQUAL, Operator.STRING_EQUAL):
                named.setdefault(predicate.attribute, Counter())[predicate.value] += 1
    found = {name: values for name, values in named.items() if name != CLASS or len(values) > 1}
    if not found:
        return None
    attribute = max(found, key=lambda name: (len(found[name]) > 1, found[name].total(), name))
    published = Counter(_content(made).get(attribute) for made in publications)
    return Popularity(
        attribute,
        [
            PopularValue(value, published[value] / max(len(publications), 1), count / len(wanted))
            for value, count in sorted(found[attribute].items(), key=lambda item: (-item[1], str(item[0])))[:_POPULAR]
        ],
    )


def _distribution(values: Iterable[float]) -> Distribution | None:
    ordered = sorted(values)
    if not ordered:
        return None
    last = len(ordered) - 1
    return Distribution(
        mean=sum(ordered) / len(ordered), p50=ordered[last // 2], p95=ordered[round(last * 0.95)], most=ordered[-1]
    )
