"""A scenario's whole workload: its clients, where they are, and what they do when. Everything follows from the seed."""

from __future__ import annotations

import heapq
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from emulation.scenario import Publications, Scenario, Subscriptions
from emulation.scenario.workload import Placement
from emulation.workload.bootstrap import extended
from emulation.workload.explicit import explicit_notifications, explicit_operations
from emulation.workload.operations import Operation, OperationKind
from emulation.workload.publishers import NANOSECONDS, Publisher, publishers, symbol_weights
from emulation.workload.quotes import QuoteSeries, real_quotes
from emulation.workload.sources import read_quotes
from emulation.workload.streams import numeric_stream, stream
from emulation.workload.subscribers import QuoteDistribution, Subscriber, followers, subscribers
from topology import Overlay

_ADVERTISE_UNTIL = 0.4
_SUBSCRIBE_UNTIL = 0.9
_SPREADING = 0.1
"""Shares of the join phase. What is left is for advertisements to spread before the first subscription, and for
subscriptions to spread before the first publication."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """How much is to be expected, for progress displays; not what the delivery verdict is computed from."""

    advertisements: int
    subscriptions: int
    publications: int
    notifications: int
    duration: float
    """Seconds, from the begin of join to the end of drain."""


@dataclass(frozen=True, slots=True)
class Workload:
    """What the clients of one run do."""

    scenario: Scenario
    publishers: tuple[Publisher, ...]
    subscribers: tuple[Subscriber, ...]
    explicit: tuple[Operation, ...]
    """Operations written out in the scenario, sorted by time."""
    stretch: float = 1.0
    """How many times later than the scenario says each operation comes (`emulation.planning.dilation`)."""

    @property
    def clients(self) -> Mapping[str, str]:
        """Every client and its broker."""
        return {
            **{one.client: one.broker for one in self.publishers},
            **{one.client: one.broker for one in self.subscribers},
            **{operation.client: operation.broker for operation in self.explicit},
        }

    def operations(self) -> Iterator[Operation]:
        """All operations sorted by time, made while they are read; publications are never held in memory."""
        seconds = self.scenario.timeline
        begin = round(seconds.join * NANOSECONDS)
        section = self.scenario.workload.publications
        arrivals = "periodic" if section is None else section.arrivals
        streams = [one.run_operations(begin, seconds.run, arrivals, self.scenario.seed) for one in self.publishers]
        merged = heapq.merge(self._joining(), self.explicit, *streams, key=lambda operation: operation.at)
        stretch = self.stretch
        yield from merged if stretch == 1 else (_at(round(one.at * stretch), one) for one in merged)

    def estimate(self) -> Estimate:
        run = self.scenario.timeline.run
        published = {one.client: one.expected_publications(run) for one in self.publishers}
        usual = sum(published[one.client] for one in self.publishers if not one.apart)
        written = [operation.operation for operation in self.explicit]
        return Estimate(
            advertisements=sum(len(one.series) for one in self.publishers) + written.count(OperationKind.ADVERTISE),
            subscriptions=sum(len(one.choices) for one in self.subscribers) + written.count(OperationKind.SUBSCRIBE),
            publications=round(sum(published.values())) + written.count(OperationKind.PUBLISH),
            notifications=round(
                sum(one.expected_share() * usual + published.get(one.follows or "", 0.0) for one in self.subscribers)
            )
            + explicit_notifications(self.explicit),
            duration=self.scenario.timeline.duration,
        )

    def _joining(self) -> list[Operation]:
        """Advertisements and subscriptions of those there from the beginning, each at its random time in `join`."""
        join, advertise_until, subscribe_from = self._joining_times()
        seed = self.scenario.seed
        advertising, subscribing = stream(seed, "advertise"), stream(seed, "subscribe")
        joining = [
            *(
                _at(_moment(advertising, 0.0, advertise_until), operation)
                for one in self.publishers
                if one.joins is None
                for operation in one.advertisements()
            ),
            *(
                _at(_moment(subscribing, subscribe_from, _SUBSCRIBE_UNTIL * join), operation)
                for one in self.subscribers
                for operation in one.subscriptions()
            ),
        ]
        return sorted(joining, key=lambda operation: operation.at)

    def _joining_times(self) -> tuple[float, float, float]:
        """Nanoseconds: how long `join` lasts, when the last publisher advertises, and when the first subscribes."""
        timeline = self.scenario.timeline
        join = timeline.join * NANOSECONDS
        if timeline.join_order == "mixed":
            return join, _SUBSCRIBE_UNTIL * join, 0.0
        advertise = _ADVERTISE_UNTIL * join if timeline.advertise is None else timeline.advertise * NANOSECONDS
        return join, advertise, advertise + _SPREADING * join


def generate(scenario: Scenario, overlay: Overlay) -> Workload:
    """The workload of a scenario (or of one of its variants) on its overlay; the same one for the same seed.

    Raises `ScenarioError` for quotes or operations that cannot be read.
    """
    section = scenario.workload
    seed = scenario.seed
    brokers = [broker.id for broker in overlay.brokers]
    publishing: tuple[Publisher, ...] = ()
    subscribing: tuple[Subscriber, ...] = ()
    if section.publications is not None:
        wanted = section.publications
        series = _series(wanted, seed)
        homes = placed(wanted.publishers, wanted.placement, brokers, stream(seed, "publishers"))
        publishing = publishers(wanted, homes, series, seed)
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
    """Those that choose among all quotes, then the followers."""
    weights = symbol_weights(publishing)
    following = sum(group.subscribers for group in section.followers)
    homes = placed(section.subscribers - following, section.placement, brokers, stream(seed, "subscribers"))
    made: list[Subscriber] = []
    if homes:
        common = [one for one in series if one.symbol in weights]
        made += subscribers(section, homes, QuoteDistribution(common, weights), seed)
    for place, group in enumerate(section.followers):
        publisher = publishing[int(group.of[1:]) - 1]
        elsewhere = [broker for broker in brokers if broker != publisher.broker] or brokers
        homes = placed(group.subscribers, group.placement, elsewhere, stream(seed, f"followers:{place}"))
        made += followers(len(made) + 1, publisher, group.symbols, homes, weights)
    return tuple(made)


def placed(count: int, placement: Placement, brokers: Sequence[str], rng: random.Random) -> list[str]:
    """The brokers of so many clients, in the clients' order."""
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
