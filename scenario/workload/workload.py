"""A whole workload: its clients, their brokers and their timed operations."""

from __future__ import annotations

import heapq
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import takewhile

import msgspec
import numpy as np

from record.time_units import SECOND
from scenario.model import Scenario
from scenario.workload.churn import churning
from scenario.workload.detections import PublicationSample
from scenario.workload.explicit import explicit_notifications
from scenario.workload.operations import BY_HAND, OperationKind, PlannedOperation
from scenario.workload.pace import curve_of, load_time
from scenario.workload.population import Expected, Population
from scenario.workload.streams import stream
from topology.link_properties import BrokerId

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
    """The scenario, whose run phase is the one for which the workload is made."""
    population: Population
    """The generated clients."""
    explicit: tuple[PlannedOperation, ...]
    """Operations written out in the scenario, sorted by time."""
    run: float
    """Seconds of the run phase that take place."""
    homes: Mapping[str, BrokerId] = field(default_factory=dict)
    """The broker of each client that a site lists, wherever it was generated."""
    programs: frozenset[str] = frozenset()
    """Clients that are programs of their own, which have no operations here."""
    stretch: float = 1.0
    """Factor by which the times of all operations are stretched (`emulation.planning.dilation`)."""

    @property
    def clients(self) -> Mapping[str, BrokerId]:
        """The broker of each client."""
        return {
            **self.population.publishers,
            **self.population.subscribers,
            **{operation.client: operation.broker for operation in self.explicit},
            **self.homes,
        }

    def unforeseen(self, client: str) -> bool:
        """True of a client that did something by hand in a run that was held, which nobody knew at its start."""
        return self.scenario.timeline.held is not None and client.startswith(BY_HAND)

    def operations(self) -> Iterator[PlannedOperation]:
        """All operations sorted by time, generated lazily: publications are never held in memory."""
        stretch, merged = self.stretch, self._taking_place()
        yield from merged if stretch == 1 else (_stretched(operation, stretch) for operation in merged)

    @property
    def publications(self) -> int:
        """The number of publications to expect."""
        share = self.run / self.scenario.timeline.run
        written = sum(operation.operation is OperationKind.PUBLISH for operation in self.explicit)
        return round(share * self._expected().publications) + written

    def estimate(self) -> Estimate:
        """The amounts to expect. A set of publications that a client gets for a composite subscription is one
        notification."""
        generated, share = self._expected(), self.run / self.scenario.timeline.run
        written = [operation.operation for operation in self.explicit]
        return Estimate(
            advertisements=generated.advertisements + written.count(OperationKind.ADVERTISE),
            subscriptions=generated.subscriptions
            + written.count(OperationKind.SUBSCRIBE)
            + written.count(OperationKind.COMPOSE),
            publications=self.publications,
            notifications=round(share * (generated.notifications + sum(self.detections())))
            + explicit_notifications(self.explicit),
            duration=self.scenario.timeline.join + self.run + self.scenario.timeline.drain,
        )

    def detections(self) -> list[float]:
        """The number of detections to expect of each composite subscription, in the order of time."""
        composites = [operation for operation in self.explicit if operation.operation is OperationKind.COMPOSE]
        if not composites:
            return []
        publications = (operation for operation in self._merged() if operation.operation is OperationKind.PUBLISH)
        written = sum(operation.operation is OperationKind.PUBLISH for operation in self.explicit)
        generated = self._expected().publications
        sample = PublicationSample.of(publications, generated + written)
        return [sample.detections(composite) for composite in composites]

    def _expected(self) -> Expected:
        """The amounts that the population makes, with profile and churn."""
        scenario = self.scenario
        run, churn = scenario.timeline.run, scenario.workload.churn
        usual = self.population.expected(run)
        factor = load_time(scenario) / run
        again, held = 0.0, 1.0
        if churn is not None:
            again = len(self.population.lasting_subscriptions()) * churn.share * run / churn.every
            held = 1 - churn.share * churn.away / churn.every
        return Expected(
            advertisements=usual.advertisements,
            subscriptions=usual.subscriptions + round(again),
            publications=usual.publications * factor,
            notifications=usual.notifications * factor * held,
        )

    def _taking_place(self) -> Iterator[PlannedOperation]:
        """The operations of the run phase that takes place, and of the join phase."""
        timeline, merged = self.scenario.timeline, self._merged()
        if self.run == timeline.run:
            return merged
        end = round((timeline.join + self.run) * SECOND)
        return takewhile(lambda operation: operation.at < end, merged)

    def _merged(self) -> Iterator[PlannedOperation]:
        """All operations sorted by time, before they are stretched."""
        timeline = self.scenario.timeline
        begin, population = round(timeline.join * SECOND), self.population
        changes = population.changes(begin, timeline.run)
        merged: Iterator[PlannedOperation] = heapq.merge(
            self._joining(), self.explicit, changes, self._churning(begin), self._paced(begin), key=lambda one: one.at
        )
        if self.programs:
            merged = filter(self._is_planned, merged)
        return (_at_home(operation, self.homes) for operation in merged) if self.homes else merged

    def _is_planned(self, operation: PlannedOperation) -> bool:
        return operation.client not in self.programs

    def _paced(self, begin: int) -> Iterator[PlannedOperation]:
        """The publications of the run phase, at the pace of the profile."""
        pace = curve_of(self.scenario)
        if pace is None:
            yield from self.population.paced(begin, self.scenario.timeline.run)
            return
        for operation in self.population.paced(begin, pace.load):
            yield _at(begin + round(pace.moment((operation.at - begin) / SECOND) * SECOND), operation)

    def _churning(self, begin: int) -> Iterator[PlannedOperation]:
        """The subscribers that come and go in the run phase."""
        scenario, churn = self.scenario, self.scenario.workload.churn
        if churn is None:
            return iter(())
        lasting = self.population.lasting_subscriptions()
        return churning(lasting, churn, scenario.seed, begin=begin, run=scenario.timeline.run)

    def _joining(self) -> Iterator[PlannedOperation]:
        """Advertisements and subscriptions of clients present from the start, each at a random time in `join`."""
        advertise_until, subscribe_from, subscribe_until = self._joining_times()
        seed = self.scenario.seed
        advertisements, subscriptions = self.population.advertisements(), self.population.subscriptions()
        times = np.concatenate(
            [
                _moments(len(advertisements), stream(seed, "advertise"), 0.0, advertise_until),
                _moments(len(subscriptions), stream(seed, "subscribe"), subscribe_from, subscribe_until),
            ]
        )
        first = len(advertisements)
        for index in np.argsort(times, kind="stable").tolist():
            operation = advertisements[index] if index < first else subscriptions[index - first]
            yield _at(int(times[index]), operation)

    def _joining_times(self) -> tuple[float, float, float]:
        """Nanoseconds: the time of the last advertisement, and those of the first and the last subscription."""
        timeline = self.scenario.timeline
        join = timeline.join * SECOND
        until = _SUBSCRIBE_UNTIL * join
        if timeline.join_order == "mixed":
            return until, 0.0, until
        advertise = _ADVERTISE_UNTIL * join if timeline.advertise is None else timeline.advertise * SECOND
        begin = advertise + _SPREADING * join
        return advertise, begin, until if timeline.subscribe is None else begin + timeline.subscribe * SECOND


def _stretched(operation: PlannedOperation, stretch: float) -> PlannedOperation:
    within = None if operation.within is None else round(operation.within * stretch)
    return msgspec.structs.replace(operation, at=round(operation.at * stretch), within=within)


def _at_home(operation: PlannedOperation, homes: Mapping[str, BrokerId]) -> PlannedOperation:
    broker = homes.get(operation.client, operation.broker)
    return operation if broker == operation.broker else msgspec.structs.replace(operation, broker=broker)


def _at(time: int, operation: PlannedOperation) -> PlannedOperation:
    return msgspec.structs.replace(operation, at=time)


def _moments(count: int, rng: random.Random, begin: float, end: float) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.fromiter((int(rng.uniform(begin, end)) for _ in range(count)), dtype=np.int64, count=count)
