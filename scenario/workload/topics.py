"""Workloads of kind `topics`: a publisher for each topic, and groups of subscribers that may join late and churn.

Gryphon, section 5.2, uses such workloads. A topic is a number, so that each subscriber needs one subscription, however
many consecutive topics it wants. A subscriber that churns gives each of its subscriptions an id of its own.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from broker_service.language import Operator, Predicate, Value
from broker_service.language.model import CLASS
from broker_service.language.records import predicate_record
from record.time_units import SECOND
from scenario.model import Scenario
from scenario.sections.messages import Problem
from scenario.sections.workload.course import Churn
from scenario.sections.workload.kind import MOST_SUBSCRIPTIONS, Arrivals
from scenario.sections.workload.topics import SubscriberGroup, TopicsWorkload
from scenario.workload.arrivals import merged_arrivals
from scenario.workload.bounds import publication_problems, size_problems
from scenario.workload.churn import comings_and_goings
from scenario.workload.operations import OperationKind, PlannedOperation
from scenario.workload.padding import PADDING_ADVERTISED
from scenario.workload.placement import placed, placement_problems
from scenario.workload.population import Expected, OperationSequence
from scenario.workload.publications import publication_operations
from scenario.workload.streams import stream
from topology.link_properties import BrokerId
from topology.model import Overlay

TOPIC = "topic"
"""The attribute that holds the topic's number."""
_CLASS = "TOPIC"


@dataclass(frozen=True, slots=True)
class TopicSubscriber:
    """One subscribing client."""

    client: str
    broker: BrokerId
    first: int
    last: int
    """The topics of its subscription."""
    joins: float | None = None
    """Seconds into the run phase at which it subscribes; None for a client of the join phase."""
    churn: Churn | None = None
    phase: float = 0.0
    """Seconds from its first subscription in the run phase, or from the phase's start, to its first unsubscription."""

    def operation(self, kind: OperationKind, number: int, at: int = 0) -> PlannedOperation:
        """The operation that makes, or withdraws, its subscription with this number, from 1."""
        wanted = None
        if kind is OperationKind.SUBSCRIBE:
            bounds = [(Operator.GREATER_OR_EQUAL, self.first), (Operator.LESS_OR_EQUAL, self.last)]
            if self.first == self.last:
                bounds = [(Operator.EQUAL, self.first)]
            wanted = [
                predicate_record(Predicate(CLASS, Operator.STRING_EQUAL, _CLASS)),
                *(predicate_record(Predicate(TOPIC, operator, topic)) for operator, topic in bounds),
            ]
        return PlannedOperation(
            at=at, client=self.client, broker=self.broker, operation=kind, id=f"s{number}", predicates=wanted
        )

    def changes(self, run: float) -> Iterator[tuple[float, OperationKind, int]]:
        """The client's subscriptions and unsubscriptions in a run phase of `run` seconds, with the subscription's
        number."""
        if self.joins is not None:
            yield self.joins, OperationKind.SUBSCRIBE, 1
        if self.churn is not None:
            for time, again, number in comings_and_goings(self.churn, (self.joins or 0.0) + self.phase, run):
                yield time, OperationKind.SUBSCRIBE if again else OperationKind.UNSUBSCRIBE, number

    def subscribed(self, run: float) -> float:
        """Seconds of a run phase of `run` seconds during which it has a subscription."""
        begin, held = 0.0 if self.joins is None else run, 0.0
        for time, kind, _ in self.changes(run):
            if kind is OperationKind.SUBSCRIBE:
                begin = time
            else:
                held, begin = held + time - begin, run
        return held + run - begin


@dataclass(frozen=True, slots=True)
class TopicsPopulation:
    """A publisher for each topic, and all subscribers of all groups."""

    publishing: tuple[BrokerId, ...]
    """The broker of each publisher, by topic."""
    rates: tuple[float, ...]
    """Publications per second of each publisher."""
    subscribing: tuple[TopicSubscriber, ...]
    arrivals: Arrivals
    size: int | None
    """Encoded size of publications, where they are padded."""
    seed: int

    @property
    def publishers(self) -> Mapping[str, BrokerId]:
        return {f"P{topic}": broker for topic, broker in enumerate(self.publishing, start=1)}

    @property
    def subscribers(self) -> Mapping[str, BrokerId]:
        return {subscriber.client: subscriber.broker for subscriber in self.subscribing}

    def advertisements(self) -> Sequence[PlannedOperation]:
        return OperationSequence(len(self.publishing), self._advertisement)

    def subscriptions(self) -> Sequence[PlannedOperation]:
        return _subscriptions([subscriber for subscriber in self.subscribing if subscriber.joins is None])

    def lasting_subscriptions(self) -> Sequence[PlannedOperation]:
        return _subscriptions([one for one in self.subscribing if one.joins is None and one.churn is None])

    def paced(self, begin: int, load: float) -> Iterator[PlannedOperation]:
        arrivals = merged_arrivals(self.rates, self.arrivals, load, stream(self.seed, "times"))
        return publication_operations(self.publishers, arrivals, _content, begin=begin, size=self.size)

    def changes(self, begin: int, run: float) -> Iterator[PlannedOperation]:
        """Subscriptions and unsubscriptions in the run phase, sorted by time."""
        moving = [one for one in self.subscribing if one.joins is not None or one.churn is not None]
        streams = (_timed(subscriber, run) for subscriber in moving)
        for time, subscriber, kind, number in heapq.merge(*streams, key=lambda change: change[0]):
            yield subscriber.operation(kind, number, begin + time)

    def expected(self, run: float) -> Expected:
        before = [0.0]
        for rate in self.rates:
            before.append(before[-1] + rate)
        later = sum(
            kind is OperationKind.SUBSCRIBE for subscriber in self.subscribing for _, kind, _ in subscriber.changes(run)
        )
        return Expected(
            advertisements=len(self.publishing),
            subscriptions=sum(subscriber.joins is None for subscriber in self.subscribing) + later,
            publications=before[-1] * run,
            notifications=sum(
                subscriber.subscribed(run) * (before[subscriber.last] - before[subscriber.first - 1])
                for subscriber in self.subscribing
            ),
        )

    def _advertisement(self, index: int) -> PlannedOperation:
        advertised = [
            Predicate(CLASS, Operator.STRING_EQUAL, _CLASS),
            Predicate(TOPIC, Operator.EQUAL, index + 1),
            *([] if self.size is None else [PADDING_ADVERTISED]),
        ]
        return PlannedOperation(
            at=0,
            client=f"P{index + 1}",
            broker=self.publishing[index],
            operation=OperationKind.ADVERTISE,
            id="a1",
            predicates=[predicate_record(predicate) for predicate in advertised],
        )


def _subscriptions(subscribers: Sequence[TopicSubscriber]) -> Sequence[PlannedOperation]:
    return OperationSequence(
        len(subscribers), lambda index: subscribers[index].operation(OperationKind.SUBSCRIBE, number=1)
    )


def _content(publisher: int) -> dict[str, Value]:
    return {CLASS: _CLASS, TOPIC: publisher + 1}


def _timed(subscriber: TopicSubscriber, run: float) -> Iterator[tuple[int, TopicSubscriber, OperationKind, int]]:
    for time, kind, number in subscriber.changes(run):
        yield round(time * SECOND), subscriber, kind, number


def populate(section: TopicsWorkload, scenario: Scenario, overlay: Overlay) -> TopicsPopulation:
    """The clients of a section that has no `problems`."""
    publications, seed = section.publications, scenario.seed
    brokers = [broker.id for broker in overlay.brokers]
    return TopicsPopulation(
        publishing=tuple(placed(publications.topics, publications.placement, brokers, stream(seed, "publishers"))),
        rates=tuple(
            publications.rate.draw(stream(seed, f"rate:P{topic}")) for topic in range(1, publications.topics + 1)
        ),
        subscribing=tuple(_subscribers(section, brokers, seed)),
        arrivals=publications.arrivals,
        size=publications.size,
        seed=seed,
    )


def problems(section: TopicsWorkload, scenario: Scenario, overlay: Overlay) -> Iterator[Problem]:
    """Contradictions between the section and the rest of the scenario."""
    publications, run = section.publications, scenario.timeline.run
    yield from placement_problems(("workload", "publications", "placement"), publications.placement, overlay)
    yield from publication_problems(publications.topics, publications.rate, scenario)
    yield from size_problems(publications.size, {CLASS: _CLASS, TOPIC: publications.topics}, scenario)
    changes = 0.0
    for index, group in enumerate(section.subscriptions):
        path = ("workload", "subscriptions", index)
        yield from placement_problems((*path, "placement"), group.placement, overlay)
        if group.joins is not None and group.joins.high >= run:
            yield Problem((*path, "joins"), f"after the run phase, which lasts {run:g} s")
        if group.churn is not None:
            changes += group.subscribers * run / group.churn.every
            if changes > MOST_SUBSCRIPTIONS:
                message = f"makes about {changes:,.0f} further subscriptions; there may be {MOST_SUBSCRIPTIONS:,}"
                yield Problem((*path, "churn", "every"), message)


def _subscribers(section: TopicsWorkload, brokers: Sequence[BrokerId], seed: int) -> Iterator[TopicSubscriber]:
    number = 0
    for place, group in enumerate(section.subscriptions):
        at = placed(group.subscribers, group.placement, brokers, stream(seed, f"subscribers:{place}"))
        rng = stream(seed, f"joins:{place}")
        for index, broker in enumerate(at):
            number += 1
            first, last = _topics(group, section.publications.topics, index)
            yield TopicSubscriber(
                client=f"S{number}",
                broker=broker,
                first=first,
                last=last,
                joins=None if group.joins is None else group.joins.draw(rng),
                churn=group.churn,
                phase=0.0 if group.churn is None else rng.random() * group.churn.every,
            )


def _topics(group: SubscriberGroup, topics: int, index: int) -> tuple[int, int]:
    """The first and the last topic of a group's subscriber with this index."""
    first, last = group.topics_of(topics)
    count = last - first + 1
    width = count if group.topics_each == "all" else group.topics_each
    block = index % -(-count // width)
    own = first + min(block * width, count - width)
    return own, own + width - 1
