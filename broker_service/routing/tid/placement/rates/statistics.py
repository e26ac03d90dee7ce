"""Statistics of an advertisement's publications: their rate, and the distribution of each attribute (section 4.3).

The publisher's broker samples the publications of each advertisement and describes the latest of them from time to
time; the description travels along the advertisement's tree. The paper leaves open how much a sample holds; here it is
the last `SAMPLE` publications, so that a share is off by 3% (the standard error) whatever the rate, and a change shows
after as many publications.

Before anything was measured, statistics are guessed from the advertisement: one publication a second, numbers spread
evenly over the range that it states. Nothing is assumed about an attribute without a range.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Annotated

import msgspec

from broker_service.language import Advertisement, Number, Operator, Predicate, Publication, Value
from broker_service.routing.tid.placement.rates.histograms import (
    DIFFERENCE,
    NO_NUMBERS,
    NO_VALUES,
    FrequentValues,
    Histogram,
    even_histogram,
    frequent_values_of,
    histogram_of,
)

SAMPLE = 256
"""Publications that a description is made from, at most."""
LARGEST_SAMPLED = 4096
"""Characters of strings in the largest publication that is sampled, because a sample keeps contents in memory."""
DESCRIBED = 32
"""Attributes that are described, those that the advertisement names first, because statistics have to stay small."""
GUESSED_RATE = 1.0
"""Publications a second of a publisher of which nothing was measured."""
GUESSED_VALUES = 10
"""Different values of an attribute that nothing is known about (Selinger et al., SIGMOD 1979, Table 1)."""
RATE_CHANGE = 0.2
"""Share of the former rate by which the rate has to change to be sent again."""


class Distribution(msgspec.Struct, frozen=True, array_like=True):
    """Distribution of an attribute's values."""

    strings: FrequentValues = NO_VALUES
    numbers: FrequentValues = NO_VALUES
    histogram: Histogram = NO_NUMBERS
    """Histogram of the numbers that `numbers` counts by value."""

    def differs(self, other: Distribution) -> bool:
        """True when some share differs noticeably."""
        return (
            self.strings.difference(other.strings) > DIFFERENCE
            or self.numbers.difference(other.numbers) > DIFFERENCE
            or self.histogram.difference(other.histogram) > DIFFERENCE
        )


class Statistics(msgspec.Struct, frozen=True, array_like=True):
    """Statistics of one advertisement."""

    rate: Annotated[float, msgspec.Meta(ge=0)]
    """Publications a second (r_i of the paper)."""
    attributes: dict[str, Distribution]
    """Distributions by attribute. Nothing is known of an attribute that is missing here."""
    guessed: bool = False
    """True when the rate was not measured."""

    def __post_init__(self) -> None:
        if not isfinite(self.rate):
            raise ValueError(f"a rate of {self.rate}")

    def differs(self, other: Statistics) -> bool:
        """True when `other` has changed so much since these statistics that brokers have to learn it."""
        if self.guessed != other.guessed or abs(other.rate - self.rate) > RATE_CHANGE * self.rate:
            return True
        if self.attributes.keys() != other.attributes.keys():
            return True
        return any(known.differs(other.attributes[name]) for name, known in self.attributes.items())


class Sample:
    """The latest publications of one advertisement, and their number since it was described last."""

    def __init__(self, advertisement: Advertisement, now: float) -> None:
        """`now` is in seconds, as for `describe`."""
        self._advertisement = advertisement
        self._latest: deque[Mapping[str, Value]] = deque(maxlen=SAMPLE)
        self._published = 0
        self._since = now

    def add(self, publication: Publication) -> None:
        """Counts a publication."""
        self._published += 1
        attributes = publication.attributes
        if sum(len(value) for value in attributes.values() if isinstance(value, str)) <= LARGEST_SAMPLED:
            self._latest.append(attributes)

    def is_due(self, now: float) -> bool:
        """True when time has passed since the last description, or since the beginning."""
        return now > self._since

    def describe(self, now: float) -> Statistics:
        """Statistics with the rate since the last call; guesses stand for distributions before any publication.

        Some time must have passed since that call (`is_due`).
        """
        rate = self._published / (now - self._since)
        self._published, self._since = 0, now
        if not self._latest:
            return Statistics(rate, guess(self._advertisement).attributes)
        return Statistics(rate, _distributions(_described(self._advertisement), self._latest))


def guess(advertisement: Advertisement) -> Statistics:
    """Statistics of publications of which nothing but the advertisement is known."""
    attributes = {}
    for name in _described(advertisement):
        predicates = [predicate for predicate in advertisement.predicates if predicate.attribute == name]
        if guessed := _guessed_distribution(predicates):
            attributes[name] = guessed
    return Statistics(GUESSED_RATE, attributes, guessed=True)


def _described(advertisement: Advertisement) -> list[str]:
    names = dict.fromkeys(predicate.attribute for predicate in advertisement.predicates)
    return list(names)[:DESCRIBED]


def _distributions(names: Iterable[str], sample: Sequence[Mapping[str, Value]]) -> dict[str, Distribution]:
    return {name: _distribution([values[name] for values in sample if name in values], len(sample)) for name in names}


def _distribution(values: Sequence[Value], publications: int) -> Distribution:
    strings = [value for value in values if isinstance(value, str)]
    numbers = [value for value in values if not isinstance(value, str)]
    return Distribution(
        frequent_values_of(strings, publications),
        frequent_values_of(numbers, publications),
        histogram_of(numbers, publications),
    )


def _guessed_distribution(predicates: Iterable[Predicate]) -> Distribution | None:
    """The distribution that an advertisement's predicates on one attribute state; None where they state no range."""
    low: Number | None = None
    high: Number | None = None
    for predicate in predicates:
        value = predicate.value
        if predicate.operator in _EQUAL:
            return _distribution((value,), 1)
        if isinstance(value, str):
            continue
        if predicate.operator in _LOWER_BOUNDS:
            low = value if low is None else max(low, value)
        elif predicate.operator in _UPPER_BOUNDS:
            high = value if high is None else min(high, value)
    if low is None or high is None:
        return None
    return Distribution(numbers=FrequentValues((), 1.0, GUESSED_VALUES), histogram=even_histogram(low, high))


_EQUAL = frozenset({Operator.EQUAL, Operator.STRING_EQUAL})
_LOWER_BOUNDS = frozenset({Operator.GREATER, Operator.GREATER_OR_EQUAL})
_UPPER_BOUNDS = frozenset({Operator.LESS, Operator.LESS_OR_EQUAL})
