"""A scenario's whole workload: its clients, their brokers and their timed operations, all determined by the seed."""

from __future__ import annotations

import heapq
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from scenario.model import Scenario
from scenario.sections.workload import Placement, Publications, Subscriptions
from scenario.workload.bootstrap import extended
from scenario.workload.explicit import explicit_notifications, explicit_operations
from scenario.workload.operations import Operation, OperationKind
from scenario.workload.publishers import NANOSECONDS, Publisher, publishers, symbol_weights
from scenario.workload.quotes import QuoteSeries, real_quotes
from scenario.workload.sources import read_quotes
from scenario.workload.streams import numeric_stream, stream
from scenario.workload.subscribers import QuoteDistribution, Subscriber, followers, subscribers
from topology import Overlay

_ADVERTISE_UNTIL = 0.4
_SUBSCRIBE_UNTIL = 0.9
_SPREADING = 0.1
"""Shares of the join phase. In the remaining time, advertisements spread before the first subscription, and
subscriptions before the first publication."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Expected amounts, for progress displays; the delivery verdict does not use them."""

    advertisements: int
    subscriptions: int
    publications: int
    notifications: int
    duration: float
    """Seconds from the start of join to the end of drain."""


@dataclass(frozen=True, slots=True)
class Workload:
    """The operations of all clients of one run."""

    scenario: Scenario
    publishers: tuple[Publisher, ...]
    subscribers: tuple[Subscriber, ...]
    explicit: tuple[Operation, ...]
    """Operations written out in the scenario, sorted by time."""
    stretch: float = 1.0
    """Factor by which the times of all operations are stretched (`emulation.planning.dilation`)."""

    @property
    def clients(self) -> Mapping[str, str]:
        """The broker of each client."""
        return {
            **{publisher.client: publisher.broker for publisher in self.publishers},
            **{subscriber.client: subscriber.broker for subscriber in self.subscribers},
            **{operation.client: operation.broker for operation in self.explicit},
        }

    def operations(self) -> Iterator[Operation]:
        """All operations sorted by time, generated lazily: publications are never held in memory."""
        seconds = self.scenario.timeline
        begin = round(seconds.join * NANOSECONDS)
        section = self.scenario.workload.publications
        arrivals = "periodic" if section is None else section.arrivals
        streams = [
            publisher.run_operations(begin, seconds.run, arrivals, self.scenario.seed) for publisher in self.publishers
        ]
        merged = heapq.merge(self._joining(), self.explicit, *streams, key=lambda operation: operation.at)
        stretch = self.stretch
        yield from merged if stretch == 1 else (_at(round(operation.at * stretch), operation) for operation in merged)

    def estimate(self) -> Estimate:
        run = self.scenario.timeline.run
        published = {publisher.client: publisher.expected_publications(run) for publisher in self.publishers}
        usual = sum(published[publisher.client] for publisher in self.publishers if not publisher.apart)
        written = [operation.operation for operation in self.explicit]
        return Estimate(
            advertisements=sum(len(publisher.series) for publisher in self.publishers)
            + written.count(OperationKind.ADVERTISE),
            subscriptions=sum(len(subscriber.choices) for subscriber in self.subscribers)
            + written.count(OperationKind.SUBSCRIBE),
            publications=round(sum(published.values())) + written.count(OperationKind.PUBLISH),
            notifications=round(
                sum(
                    subscriber.expected_share() * usual + published.get(subscriber.follows or "", 0.0)
                    for subscriber in self.subscribers
                )
            )
            + explicit_notifications(self.explicit),
            duration=self.scenario.timeline.duration,
        )

    def _joining(self) -> list[Operation]:
        """Advertisements and subscriptions of clients present from the start, each at a random time in `join`."""
        join, advertise_until, subscribe_from = self._joining_times()
        seed = self.scenario.seed
        advertising, subscribing = stream(seed, "advertise"), stream(seed, "subscribe")
        joining = [
            *(
                _at(_moment(advertising, 0.0, advertise_until), operation)
                for publisher in self.publishers
                if publisher.joins is None
                for operation in publisher.advertisements()
            ),
            *(
                _at(_moment(subscribing, subscribe_from, _SUBSCRIBE_UNTIL * join), operation)
                for subscriber in self.subscribers
                for operation in subscriber.subscriptions()
            ),
        ]
        return sorted(joining, key=lambda operation: operation.at)

    def _joining_times(self) -> tuple[float, float, float]:
        """Nanoseconds: the length of `join`, the time of the last advertisement and of the first subscription."""
        timeline = self.scenario.timeline
        join = timeline.join * NANOSECONDS
        if timeline.join_order == "mixed":
            return join, _SUBSCRIBE_UNTIL * join, 0.0
        advertise = _ADVERTISE_UNTIL * join if timeline.advertise is None else timeline.advertise * NANOSECONDS
        return join, advertise, advertise + _SPREADING * join


def generate(scenario: Scenario, overlay: Overlay) -> Workload:
    """The workload of a scenario (or of one of its variants) on its overlay, determined by the seed.

    Raises `ScenarioError` for quotes or operations that cannot be read.
    """
    section = scenario.workload
    seed = scenario.seed
    brokers = [broker.id for broker in overlay.brokers]
    publishing: tuple[Publisher, ...] = ()
    subscribing: tuple[Subscriber, ...] = ()
    if section.publications is not None:
        publications = section.publications
        series = _series(publications, seed)
        publishing_at = placed(publications.publishers, publications.placement, brokers, stream(seed, "publishers"))
        publishing = publishers(publications, publishing_at, series, seed)
        if section.subscriptions is not None:
            subscribing = _subscribers(section.subscriptions, publishing, series, brokers, seed)
    return Workload(scenario, publishing, subscribing, explicit_operations(section.operations))


def _subscribers(
    section: Subscriptions,
    publishing: Sequence[Publisher],
    series: Sequence[QuoteSeries],
    brokers: Sequence[str],
    seed: int,
) -> tuple[Subscriber, ...]:
    """The subscribers that choose among all quotes, then the followers."""
    weights = symbol_weights(publishing)
    following = sum(group.subscribers for group in section.followers)
    at = placed(section.subscribers - following, section.placement, brokers, stream(seed, "subscribers"))
    made: list[Subscriber] = []
    if at:
        common = [quotes for quotes in series if quotes.symbol in weights]
        made += subscribers(section, at, QuoteDistribution(common, weights), seed)
    for place, group in enumerate(section.followers):
        publisher = publishing[int(group.of[1:]) - 1]
        elsewhere = [broker for broker in brokers if broker != publisher.broker] or brokers
        at = placed(group.subscribers, group.placement, elsewhere, stream(seed, f"followers:{place}"))
        made += followers(len(made) + 1, publisher, group.symbols, at, weights)
    return tuple(made)


def placed(count: int, placement: Placement, brokers: Sequence[str], rng: random.Random) -> list[str]:
    """The brokers of `count` clients, in the order of the clients."""
    if placement == "uniform":
        return rng.choices(brokers, k=count)
    turn = rng.sample(brokers, len(brokers)) if placement == "spread" else list(placement)
    return [turn[index % len(turn)] for index in range(count)]


def _series(section: Publications, seed: int) -> tuple[QuoteSeries, ...]:
    count = section.symbol_count
    given = real_quotes() if section.source == "stocks" else read_quotes(section.source, count)
    return extended(given, count, numeric_stream(seed, "bootstrap"))


def _at(time: int, operation: Operation) -> Operation:
    return msgspec.structs.replace(operation, at=time)


def _moment(rng: random.Random, begin: float, end: float) -> int:
    return int(rng.uniform(begin, end))
