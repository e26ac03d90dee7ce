"""Workloads of kind `integers`: publications of one integer, and subscriptions to single integers.

`scenario.workload.interest` states the distributions. With `regional`, the values are divided among the publishing
brokers in intervals of one width, as far as possible; with all others, each publisher has an interval of its own, which
is all values unless the scenario limits what is advertised.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from broker_service.language import Operator, Predicate, Value
from broker_service.language.model import CLASS
from broker_service.language.records import predicate_record
from record.log import PredicateRecord
from scenario.model import Scenario
from scenario.sections.messages import Problem
from scenario.sections.workload.integers import IntegersWorkload
from scenario.sections.workload.kind import Arrivals
from scenario.workload import interest
from scenario.workload.arrivals import merged_arrivals
from scenario.workload.bounds import publication_problems, size_problems, subscription_problems
from scenario.workload.interest import Weights
from scenario.workload.operations import OperationKind, PlannedOperation
from scenario.workload.padding import PADDING_ADVERTISED
from scenario.workload.population import Expected, OperationSequence
from scenario.workload.publications import publication_operations
from scenario.workload.streams import numeric_stream, stream
from scenario.yaml_files.fields import FieldPath
from topology.link_properties import BrokerId
from topology.model import LARGEST_MESH, Overlay

VALUE = "value"
"""The attribute that holds the integer."""
_CLASS = "INTEGER"
_EVERYTHING = -1
"""Stands among the wanted values for all of them."""
_RATIO: FieldPath = ("workload", "subscriptions", "matching_ratio")
_MOST_DECISIONS = 500_000_000
"""Random decisions, of each broker on each value, that take some seconds."""
_NEAR = 1e-6
"""Relative error of a matching ratio that counts as reached."""

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class IntegerPublishers:
    """The publishers, one at each publishing broker."""

    brokers: Integers
    """The broker of each publisher, as its index in the overlay."""
    first: Integers
    """The first value that each publisher advertises."""
    width: Integers
    """The number of values that each publisher advertises; after the last value they go on at 0."""
    rates: Weights
    """Publications per second of each publisher."""
    cumulative: Weights
    """Popularity, among publications, of all values before each value, and at last of all values."""

    def intervals(self, publisher: int) -> list[tuple[int, int]]:
        """The values that a publisher (an index) advertises, as half-open intervals."""
        values = len(self.cumulative) - 1
        first, end = int(self.first[publisher]), int(self.first[publisher] + self.width[publisher])
        return [(first, end)] if end <= values else [(first, values), (0, end - values)]

    def value(self, publisher: int, share: float) -> int:
        """The value below which `share` of a publisher's publications are, counted from its first value on."""
        masses = [(low, self.cumulative[low], self.cumulative[end]) for low, end in self.intervals(publisher)]
        rest = share * sum(above - below for _, below, above in masses)
        for _, below, above in masses:
            if rest < above - below:
                value = int(np.searchsorted(self.cumulative, below + rest, side="right")) - 1
                break
            rest -= above - below
        else:
            value = -1
        # Rounding may lead out of the interval where hardly anything is published.
        outside = (value - self.first[publisher]) % (len(self.cumulative) - 1) >= self.width[publisher]
        return masses[0][0] if outside or value < 0 else value

    def mean(self, amounts: Weights) -> Weights:
        """The mean of an amount, given for each value, over the publications of each publisher."""
        held = np.concatenate([[0.0], np.cumsum(np.diff(self.cumulative) * amounts)])
        means = []
        for publisher in range(len(self.brokers)):
            ends = self.intervals(publisher)
            mass = sum(self.cumulative[end] - self.cumulative[low] for low, end in ends)
            means.append(sum(held[end] - held[low] for low, end in ends) / mass if mass else 0.0)
        return np.array(means)


@dataclass(frozen=True, slots=True, eq=False)
class Wanted:
    """The values that each broker's subscriber wants."""

    values: Integers
    """Values, broker after broker; a broker that wants all has the one entry `_EVERYTHING`."""
    begins: tuple[int, ...]
    """Index in `values` at which each broker's begin, and at last the number of `values`."""

    def receivers(self, values: int) -> Weights:
        """The number of brokers that want each value."""
        single = np.bincount(self.values[self.values != _EVERYTHING], minlength=values)
        return np.asarray(single + int((self.values == _EVERYTHING).sum()), dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class IntegersPopulation:
    """A publisher at each publishing broker, and a subscriber at every broker."""

    brokers: tuple[BrokerId, ...]
    publishing: IntegerPublishers
    wanted: Wanted
    arrivals: Arrivals
    size: int | None
    """Encoded size of publications, where they are padded."""
    seed: int
    _subscribed: dict[int, list[PredicateRecord]] = field(default_factory=dict, init=False, repr=False)
    """The predicates of a subscription to each value, once for all subscriptions to it."""

    @property
    def publishers(self) -> Mapping[str, BrokerId]:
        at = self.publishing.brokers.tolist()
        return {f"P{number}": self.brokers[index] for number, index in enumerate(at, start=1)}

    @property
    def subscribers(self) -> Mapping[str, BrokerId]:
        return {f"S{number}": broker for number, broker in enumerate(self.brokers, start=1)}

    def advertisements(self) -> Sequence[PlannedOperation]:
        return [
            PlannedOperation(
                at=0,
                client=client,
                broker=broker,
                operation=OperationKind.ADVERTISE,
                id=f"a{place}",
                predicates=[predicate_record(predicate) for predicate in self._advertised(low, end - 1)],
            )
            for index, (client, broker) in enumerate(self.publishers.items())
            for place, (low, end) in enumerate(self.publishing.intervals(index), start=1)
        ]

    def subscriptions(self) -> Sequence[PlannedOperation]:
        return OperationSequence(len(self.wanted.values), self._subscription)

    def lasting_subscriptions(self) -> Sequence[PlannedOperation]:
        return self.subscriptions()

    def changes(self, begin: int, run: float) -> Iterator[PlannedOperation]:
        return iter(())

    def paced(self, begin: int, load: float) -> Iterator[PlannedOperation]:
        publishing, shares = self.publishing, stream(self.seed, "values")

        def content(publisher: int) -> dict[str, Value]:
            return {CLASS: _CLASS, VALUE: publishing.value(publisher, shares.random())}

        arrivals = merged_arrivals(publishing.rates.tolist(), self.arrivals, load, stream(self.seed, "times"))
        return publication_operations(self.publishers, arrivals, content, begin=begin, size=self.size)

    def expected(self, run: float) -> Expected:
        publishing = self.publishing
        receivers = publishing.mean(self.wanted.receivers(len(publishing.cumulative) - 1))
        return Expected(
            advertisements=sum(len(publishing.intervals(index)) for index in range(len(publishing.brokers))),
            subscriptions=len(self.wanted.values),
            publications=float(publishing.rates.sum()) * run,
            notifications=float(publishing.rates @ receivers) * run,
        )

    def _advertised(self, low: int, high: int) -> list[Predicate]:
        return [
            Predicate(CLASS, Operator.STRING_EQUAL, _CLASS),
            Predicate(VALUE, Operator.GREATER_OR_EQUAL, low),
            Predicate(VALUE, Operator.LESS_OR_EQUAL, high),
            *([] if self.size is None else [PADDING_ADVERTISED]),
        ]

    def _subscription(self, index: int) -> PlannedOperation:
        broker = bisect_right(self.wanted.begins, index) - 1
        return PlannedOperation(
            at=0,
            client=f"S{broker + 1}",
            broker=self.brokers[broker],
            operation=OperationKind.SUBSCRIBE,
            id=f"s{index - self.wanted.begins[broker] + 1}",
            predicates=self._predicates(int(self.wanted.values[index])),
        )

    def _predicates(self, value: int) -> list[PredicateRecord]:
        """The predicates of a subscription to a value."""
        found = self._subscribed.get(value)
        if found is None:
            predicate = (
                Predicate(CLASS, Operator.STRING_EQUAL, _CLASS)
                if value == _EVERYTHING
                else Predicate(VALUE, Operator.EQUAL, value)
            )
            found = self._subscribed[value] = [predicate_record(predicate)]
        return found


class _Chances:
    """The publishers, and the probability that each broker wants each value."""

    def __init__(self, section: IntegersWorkload, brokers: int, distances: Weights | None, seed: int) -> None:
        """`distances` are those between all brokers where the workload is regional, and None where it is not."""
        values, ratio = section.values, section.subscriptions.matching_ratio
        count = section.publishers_on(brokers)
        at = stream(seed, "publishers").sample(range(brokers), count)
        rates = [section.publications.rate.draw(stream(seed, f"rate:P{number}")) for number in range(1, count + 1)]
        popularity = np.full(values, 1 / values)
        self._regions: Weights | None = None
        self._alike = np.full(values, ratio)
        match section.distribution:
            case "zipf":
                ranks = numeric_stream(seed, "popularity").permutation(values)
                self._alike = interest.drawn(interest.zipf(values, section.exponent)[ranks], popularity, ratio)
            case "multimodal":
                positions = interest.peaks(values, section.peaks, numeric_stream(seed, "peaks"))
                popularity = interest.mixture(values, positions)
                self._alike = interest.drawn(popularity, popularity, ratio)
        if distances is not None:
            importance = np.array(rates) / sum(rates)
            self._regions = interest.regional(distances[:, at], importance, section.decay, ratio)
        first, width = self._advertised(section, count, seed)
        cumulative = np.concatenate([[0.0], np.cumsum(popularity)])
        self.publishing = IntegerPublishers(np.array(at), first, width, np.array(rates), cumulative)

    def of(self, broker: int) -> Weights:
        """The probability that a broker, given by its index, wants each value."""
        return self._alike if self._regions is None else np.repeat(self._regions[broker], self.publishing.width)

    def _advertised(self, section: IntegersWorkload, publishers: int, seed: int) -> tuple[Integers, Integers]:
        """The first value and the number of values that each publisher advertises."""
        values = section.values
        if self._regions is not None:
            ends = np.arange(publishers + 1) * values // publishers
            return ends[:-1], np.diff(ends)
        width = max(1, round(section.publications.advertised * values))
        first = numeric_stream(seed, "advertised").integers(0, values, size=publishers)
        return first if width < values else np.zeros_like(first), np.full(publishers, width)


def populate(section: IntegersWorkload, scenario: Scenario, overlay: Overlay) -> IntegersPopulation:
    """The clients of a section that has no `problems`."""
    chances = _Chances(section, len(overlay.brokers), _distances(section, scenario), scenario.seed)
    return IntegersPopulation(
        brokers=tuple(broker.id for broker in overlay.brokers),
        publishing=chances.publishing,
        wanted=_wanted(chances, len(overlay.brokers), section.values, scenario.seed),
        arrivals=section.publications.arrivals,
        size=section.publications.size,
        seed=scenario.seed,
    )


def problems(section: IntegersWorkload, scenario: Scenario, overlay: Overlay) -> Iterator[Problem]:
    """Contradictions between the section and the rest of the scenario."""
    brokers, ratio = len(overlay.brokers), section.subscriptions.matching_ratio
    publishers = section.publishers_on(brokers)
    yield from publication_problems(publishers, section.publications.rate, scenario)
    yield from size_problems(section.publications.size, {CLASS: _CLASS, VALUE: section.values - 1}, scenario)
    if brokers * section.values > _MOST_DECISIONS:
        message = f"{section.values:,} values for each of {brokers:,} brokers; {_MOST_DECISIONS:,} is the most in all"
        yield Problem(("workload", "values"), message)
        return
    distances = None
    if section.distribution == "regional":
        if publishers > section.values:
            message = f"{section.values:,} values cannot be divided among {publishers:,} publishing brokers"
            yield Problem(("workload", "values"), f"{message}; give at least as many")
            return
        if brokers > LARGEST_MESH:
            message = f"regional interest needs the delay between any two of {brokers:,} brokers"
            yield Problem(("workload", "distribution"), f"{message}; {LARGEST_MESH:,} brokers are the most")
            return
        distances = _distances(section, scenario)
        if distances is None or not (distances > 0).all():
            message = "regional interest needs two brokers or more, and a delay above 0 between any two"
            yield Problem(("workload", "distribution"), f"{message}: give links a `delay`")
            return
    chances = _Chances(section, brokers, distances, scenario.seed)
    wanted, subscriptions = np.zeros(section.values), 0.0
    for broker in range(brokers):
        of_broker = chances.of(broker)
        wanted += of_broker
        subscriptions += 1.0 if (of_broker >= 1).all() else float(of_broker.sum())
    yield from subscription_problems(_RATIO, subscriptions)
    publishing, average = chances.publishing, wanted / brokers
    reached = float(publishing.rates @ publishing.mean(average) / publishing.rates.sum())
    if distances is not None and reached < ratio * (1 - _NEAR):
        yield Problem(_RATIO, f"cannot be more than {reached:.3g}, because some brokers cannot be reached from others")


def _wanted(chances: _Chances, brokers: int, values: int, seed: int) -> Wanted:
    """Draws the values that each broker wants, from a stream of its own."""
    drawn = []
    for broker in range(brokers):
        rng = numeric_stream(seed, f"interests:S{broker + 1}")
        found = np.flatnonzero(rng.random(values) < chances.of(broker))
        drawn.append(found if len(found) < values else np.array([_EVERYTHING]))
    return Wanted(np.concatenate(drawn), tuple(accumulate(map(len, drawn), initial=0)))


def _distances(section: IntegersWorkload, scenario: Scenario) -> Weights | None:
    """Round trips between all brokers where the distribution depends on them, else None.

    From each broker to itself it is that to its nearest neighbour, and 0 where there is none.
    """
    if section.distribution != "regional":
        return None
    trips = scenario.topology.mesh(scenario.name, scenario.seed).round_trips()
    np.fill_diagonal(trips, np.inf)
    np.fill_diagonal(trips, trips.min(axis=1) if len(trips) > 1 else 0.0)
    return trips
