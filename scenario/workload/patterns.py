"""Workloads of kind `patterns`: publications are sets of distinct numbers, subscriptions ask for single numbers.

Semi-probabilistic routing, section 4, table 1: every dispatcher publishes, and subscribes to some patterns drawn
uniformly. The paper states the share of receivers instead of the length of an event. A dispatcher with m of M patterns
receives an event of k numbers with probability 1 - C(M - k, m) / C(M, m). Events have the two lengths, of k and k + 1,
between which the wanted share is, in the proportion that gives it.

A number is an attribute of its own, because a matching index finds attributes faster than words in a text.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from broker_service.language import Operator, Predicate, Value
from broker_service.language.model import CLASS, MAX_ATTRIBUTES
from broker_service.language.records import predicate_record
from scenario.model import Scenario
from scenario.sections.messages import Problem
from scenario.sections.workload.kind import Arrivals
from scenario.sections.workload.patterns import PatternsWorkload
from scenario.workload.arrivals import merged_arrivals
from scenario.workload.bounds import publication_problems, size_problems, subscription_problems
from scenario.workload.operations import OperationKind, PlannedOperation
from scenario.workload.padding import PADDING_ADVERTISED
from scenario.workload.population import Expected, OperationSequence
from scenario.workload.publications import publication_operations
from scenario.workload.streams import stream
from topology.link_properties import BrokerId
from topology.model import Overlay

_CLASS = "PATTERN"
_OTHER_ATTRIBUTES = 2
"""The class and the padding."""


@dataclass(frozen=True, slots=True)
class Lengths:
    """The two lengths of events: of `shorter` numbers, or of one more with the probability `longer`."""

    shorter: int
    longer: float

    def draw(self, rng: random.Random) -> int:
        return self.shorter + (rng.random() < self.longer)


def receiving(length: int, patterns: int, drawn: int) -> float:
    """The probability that an event with `length` of all patterns matches one of a subscriber's `drawn` patterns."""
    return 1 - prod(max(patterns - length - index, 0) / (patterns - index) for index in range(drawn))


def lengths(share: float, patterns: int, drawn: int) -> Lengths:
    """The lengths of events that reach this share of all subscribers, in the mean."""
    shorter = 0
    while shorter < patterns and receiving(shorter + 1, patterns, drawn) <= share:
        shorter += 1
    if shorter == patterns:
        return Lengths(patterns, 0.0)
    low, high = (receiving(length, patterns, drawn) for length in (shorter, shorter + 1))
    return Lengths(shorter, (share - low) / (high - low))


@dataclass(frozen=True, slots=True)
class PatternsPopulation:
    """A publisher and a subscriber at every broker."""

    brokers: tuple[BrokerId, ...]
    rates: tuple[float, ...]
    """Publications per second of each publisher."""
    patterns: int
    drawn: tuple[tuple[int, ...], ...]
    """The patterns of each subscriber."""
    lengths: Lengths
    share: float
    """Mean share of the brokers that a publication matches."""
    arrivals: Arrivals
    size: int | None
    """Encoded size of publications, where they are padded."""
    seed: int

    @property
    def publishers(self) -> Mapping[str, BrokerId]:
        return {f"P{number}": broker for number, broker in enumerate(self.brokers, start=1)}

    @property
    def subscribers(self) -> Mapping[str, BrokerId]:
        return {f"S{number}": broker for number, broker in enumerate(self.brokers, start=1)}

    def advertisements(self) -> Sequence[PlannedOperation]:
        advertised = [
            Predicate(CLASS, Operator.STRING_EQUAL, _CLASS),
            *(Predicate(attribute(number), Operator.EQUAL, 1) for number in range(1, self.patterns + 1)),
            *([] if self.size is None else [PADDING_ADVERTISED]),
        ]
        records = [predicate_record(predicate) for predicate in advertised]
        return [
            PlannedOperation(
                at=0, client=client, broker=broker, operation=OperationKind.ADVERTISE, id="a1", predicates=records
            )
            for client, broker in self.publishers.items()
        ]

    def subscriptions(self) -> Sequence[PlannedOperation]:
        each = len(self.drawn[0])
        return OperationSequence(len(self.drawn) * each, lambda index: self._subscription(*divmod(index, each)))

    def lasting_subscriptions(self) -> Sequence[PlannedOperation]:
        return self.subscriptions()

    def changes(self, begin: int, run: float) -> Iterator[PlannedOperation]:
        return iter(())

    def paced(self, begin: int, load: float) -> Iterator[PlannedOperation]:
        rng = stream(self.seed, "numbers")
        names = {number: attribute(number) for number in range(1, self.patterns + 1)}

        def content(_publisher: int) -> dict[str, Value]:
            numbers = sorted(rng.sample(range(1, self.patterns + 1), self.lengths.draw(rng)))
            return {CLASS: _CLASS, **dict.fromkeys(map(names.__getitem__, numbers), 1)}

        arrivals = merged_arrivals(self.rates, self.arrivals, load, stream(self.seed, "times"))
        return publication_operations(self.publishers, arrivals, content, begin=begin, size=self.size)

    def expected(self, run: float) -> Expected:
        publications = sum(self.rates) * run
        return Expected(
            advertisements=len(self.brokers),
            subscriptions=sum(map(len, self.drawn)),
            publications=publications,
            notifications=publications * self.share * len(self.brokers),
        )

    def _subscription(self, subscriber: int, place: int) -> PlannedOperation:
        wanted = Predicate(attribute(self.drawn[subscriber][place]), Operator.EQUAL, 1)
        return PlannedOperation(
            at=0,
            client=f"S{subscriber + 1}",
            broker=self.brokers[subscriber],
            operation=OperationKind.SUBSCRIBE,
            id=f"s{place + 1}",
            predicates=[predicate_record(wanted)],
        )


def attribute(number: int) -> str:
    """The attribute that an event has when it contains a number: the same string each time, because the subscriptions
    of a process name it, too."""
    return sys.intern(f"n{number}")


def populate(section: PatternsWorkload, scenario: Scenario, overlay: Overlay) -> PatternsPopulation:
    """The clients of a section that has no `problems`."""
    seed, rate = scenario.seed, section.publications.rate
    brokers = tuple(broker.id for broker in overlay.brokers)
    share, each = section.publications.share_on(len(brokers)), section.subscriptions.per_subscriber
    numbers = range(1, len(brokers) + 1)
    return PatternsPopulation(
        brokers=brokers,
        rates=tuple(rate.draw(stream(seed, f"rate:P{number}")) for number in numbers),
        patterns=section.patterns,
        drawn=tuple(
            tuple(stream(seed, f"subscriber:{number}").sample(range(1, section.patterns + 1), each))
            for number in numbers
        ),
        lengths=lengths(share, section.patterns, each),
        share=share,
        arrivals=section.publications.arrivals,
        size=section.publications.size,
        seed=seed,
    )


def problems(section: PatternsWorkload, scenario: Scenario, overlay: Overlay) -> Iterator[Problem]:
    """Contradictions between the section and the rest of the scenario."""
    brokers, publications = len(overlay.brokers), section.publications
    share, each = publications.share_on(brokers), section.subscriptions.per_subscriber
    yield from publication_problems(brokers, publications.rate, scenario)
    yield from subscription_problems(("workload", "subscriptions", "per_subscriber"), brokers * each)
    if share > 1:
        message = f"{publications.receiver_count} receivers, but the overlay has {brokers} brokers"
        yield Problem(("workload", "publications", "receiver_count"), message)
        return
    numbers = lengths(share, section.patterns, each).shorter + 1
    if numbers + _OTHER_ATTRIBUTES > MAX_ATTRIBUTES:
        message = (
            f"takes {numbers} numbers in a publication, which has at most {MAX_ATTRIBUTES - _OTHER_ATTRIBUTES}; "
            "ask for fewer receivers, or for more patterns a subscriber"
        )
        yield Problem(("workload", "publications", "receivers"), message)
        return
    largest = {attribute(section.patterns - index): 1 for index in range(min(numbers, section.patterns))}
    yield from size_problems(publications.size, {CLASS: _CLASS, **largest}, scenario)
