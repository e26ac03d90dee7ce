"""Selection factors: the share of an advertisement's publications that match a subscription (section 4.3, Table 1).

The factor of a subscription is the product of those of its attributes, because the joint distribution of attributes is
not known. Decisions where the paper leaves something open:

1. All predicates on one attribute together have one factor, because they describe one set of values: `[x,>,1],[x,<,2]`
   is an interval, and a product would take its ends for independent.
2. Open and closed bounds are the same within a histogram; where all numbers are listed, the two differ.
3. A number that has to equal a value has the share of the value, and never more than that of the value's bucket.
4. Operators on strings hold for as large a share of the values that are not listed as of those that are. One of these
   values that a predicate names counts as common as the average of them. `<>` and `neq` are the rest of `=` and `eq`.
5. Nothing is known of an attribute without statistics: `GUESSED_RANGE` and `GUESSED_VALUES` are the factors that
   optimizers of databases use (Selinger et al., SIGMOD 1979, Table 1).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar, cast

from broker_service.language import Number, Operator, Subscription, Value, number_sets, string_sets
from broker_service.language.content import TESTS
from broker_service.routing.tid.placement.rates.histograms import FrequentValues
from broker_service.routing.tid.placement.rates.statistics import GUESSED_VALUES, Distribution, Statistics

GUESSED_RANGE = 1 / 3
"""Share of unknown values that satisfy bounds or a part of a string."""

Condition = tuple[Operator, Value]
_NumberConditions = Sequence[tuple[Operator, Number]]
_StringConditions = Sequence[tuple[Operator, str]]

_V = TypeVar("_V", bound=Value)

_UNKNOWN = FrequentValues((), 1.0, GUESSED_VALUES)


class Selection:
    """A subscription, prepared for its selection factors with respect to several advertisements."""

    def __init__(self, subscription: Subscription) -> None:
        conditions: dict[str, list[Condition]] = {}
        for predicate in subscription.predicates:
            conditions.setdefault(predicate.attribute, []).append((predicate.operator, predicate.value))
        self._choices = [(attribute, _choice_of(wanted)) for attribute, wanted in conditions.items()]

    def factor(self, statistics: Statistics) -> float:
        """Share of the publications described that match the subscription (sf_A(S) of the paper)."""
        factor = 1.0
        for attribute, choice in self._choices:
            factor *= choice.share(statistics.attributes.get(attribute))
        return factor


@dataclass(frozen=True, slots=True)
class _NoValue:
    """Conditions that no value meets."""

    def share(self, distribution: Distribution | None) -> float:
        return 0.0


@dataclass(frozen=True, slots=True)
class _OneString:
    """Conditions that this string alone meets."""

    wanted: str

    def share(self, distribution: Distribution | None) -> float:
        return (_UNKNOWN if distribution is None else distribution.strings).share_of(self.wanted)


@dataclass(frozen=True, slots=True)
class _OneNumber:
    """Conditions that this number alone meets."""

    wanted: Number

    def share(self, distribution: Distribution | None) -> float:
        if distribution is None:
            return _UNKNOWN.share_of(self.wanted)
        return min(distribution.numbers.share_of(self.wanted), distribution.histogram.bucket_of(self.wanted))


@dataclass(frozen=True, slots=True)
class _Listing:
    """Conditions that are tested with the values that are listed (decision 4)."""

    bounds: Sequence[Condition]
    """The conditions without those that exclude a single value."""
    excluded: Collection[Value]
    """Values that meet the bounds and are excluded."""

    def share_in(self, values: FrequentValues) -> float:
        listed = within = share = 0.0
        unlisted = set(self.excluded)
        for value, part in values.listed:
            listed += part
            if _meets(value, self.bounds):
                within += part
                if value in self.excluded:
                    unlisted.discard(value)
                else:
                    share += part
        if not values.others:
            return share
        others = values.others
        if any(operator is not Operator.PRESENT for operator, _ in self.bounds):
            others *= within / listed if listed else GUESSED_RANGE
        return share + max(0.0, others - len(unlisted) * values.share_of_another)


@dataclass(frozen=True, slots=True)
class _Strings:
    """Conditions that several strings meet."""

    listing: _Listing

    def share(self, distribution: Distribution | None) -> float:
        return self.listing.share_in(_UNKNOWN if distribution is None else distribution.strings)


@dataclass(frozen=True, slots=True)
class _Interval:
    """Conditions that an interval of numbers meets, less some."""

    low: Number | None
    high: Number | None
    listing: _Listing

    def share(self, distribution: Distribution | None) -> float:
        if distribution is None or not distribution.numbers.others:
            return self.listing.share_in(_UNKNOWN if distribution is None else distribution.numbers)
        share = distribution.histogram.between(self.low, self.high)
        for excluded in self.listing.excluded:
            share -= _OneNumber(cast(Number, excluded)).share(distribution)
        return max(0.0, share)


def _choice_of(conditions: Sequence[Condition]) -> _NoValue | _OneString | _OneNumber | _Strings | _Interval:
    """The values of one attribute that meet all conditions on it, at least one."""
    types = {isinstance(value, str) for _, value in conditions}
    if len(types) > 1:
        return _NoValue()
    if types == {True}:
        return _strings_of(cast(_StringConditions, conditions))
    return _numbers_of(cast(_NumberConditions, conditions))


def _strings_of(conditions: _StringConditions) -> _NoValue | _OneString | _Strings:
    if not string_sets.satisfiable(conditions):
        return _NoValue()
    wanted = _equal(conditions)
    return _Strings(_listing_of(conditions)) if wanted is None else _OneString(wanted)


def _numbers_of(conditions: _NumberConditions) -> _NoValue | _OneNumber | _Interval:
    if not number_sets.satisfiable(conditions):
        return _NoValue()
    low = max((value for operator, value in conditions if operator in _LOWER), default=None)
    high = min((value for operator, value in conditions if operator in _UPPER), default=None)
    wanted = _equal(conditions)
    if wanted is None and low == high:
        wanted = low
    return _Interval(low, high, _listing_of(conditions)) if wanted is None else _OneNumber(wanted)


def _listing_of(conditions: Sequence[Condition]) -> _Listing:
    bounds = [condition for condition in conditions if condition[0] not in _UNEQUAL]
    excluded = {value for operator, value in conditions if operator in _UNEQUAL and _meets(value, bounds)}
    return _Listing(bounds, frozenset(excluded))


def _meets(value: Value, conditions: Iterable[Condition]) -> bool:
    return all(TESTS[operator](value, wanted) for operator, wanted in conditions)


def _equal(conditions: Iterable[tuple[Operator, _V]]) -> _V | None:
    return next((value for operator, value in conditions if operator in _EQUAL), None)


_EQUAL = frozenset({Operator.EQUAL, Operator.STRING_EQUAL})
_UNEQUAL = frozenset({Operator.NOT_EQUAL, Operator.STRING_NOT_EQUAL})
_LOWER = frozenset({Operator.GREATER, Operator.GREATER_OR_EQUAL})
_UPPER = frozenset({Operator.LESS, Operator.LESS_OR_EQUAL})
