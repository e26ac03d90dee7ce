"""Subscribers: symbols and ranges chosen so that a subscription matches its share of all publications.

A subscription first chooses a symbol by popularity. If that symbol alone has at least the requested share of all
publications, the subscription names it and takes a range of one attribute that holds the right part of its quotes;
otherwise it takes a range over the quotes of all symbols, around a quote of the chosen one. A scenario may request
whole symbols instead: as many neighbours of the chosen one, by name, as together have the share.

Followers subscribe to all quotes of one publisher, and optionally of its neighbours by name.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from broker_service.language import Operator, Predicate
from broker_service.language.records import predicate_record
from scenario.sections.workload.quotes import QuoteSubscriptions
from scenario.workload.operations import OperationKind, PlannedOperation
from scenario.workload.quotes.publishers import Publisher
from scenario.workload.quotes.series import QuoteSeries
from scenario.workload.streams import stream


@dataclass(frozen=True, slots=True)
class ChosenSubscription:
    """A subscription and its expected share of all publications."""

    predicates: tuple[Predicate, ...]
    selectivity: float


@dataclass(frozen=True, slots=True)
class Subscriber:
    """One subscribing client."""

    client: str
    broker: str
    choices: tuple[ChosenSubscription, ...]
    follows: str | None = None
    """The publisher that a follower follows; selectivities are then shares of the other publishers' publications."""

    def subscriptions(self) -> list[PlannedOperation]:
        """The client's subscriptions, all at time 0, which is replaced by a time in the join phase."""
        return [
            PlannedOperation(
                at=0,
                client=self.client,
                broker=self.broker,
                operation=OperationKind.SUBSCRIBE,
                id=f"s{number}",
                predicates=[predicate_record(predicate) for predicate in choice.predicates],
            )
            for number, choice in enumerate(self.choices, start=1)
        ]

    def expected_share(self) -> float:
        """Expected share of all publications, except those of the publisher it follows, that it is notified of.

        A publication counts once, even if several of its subscriptions match.
        """
        missed = 1.0
        for choice in self.choices:
            missed *= 1.0 - choice.selectivity
        return 1.0 - missed


class QuoteDistribution:
    """The distribution of each attribute over the quotes that will be published, by symbol and over all of them."""

    def __init__(self, series: Sequence[QuoteSeries], weights: Mapping[str, float]) -> None:
        """`weights` are the symbols' shares of all publications; all series have the same numeric attributes."""
        self.series = {quotes.symbol: quotes for quotes in series}
        self.symbols = sorted(self.series)
        self.weights = weights
        self.attributes = tuple(series[0].numbers)
        self._sorted: dict[tuple[str, str], NDArray[np.float64]] = {}
        self._pooled: dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]] = {}

    def sorted_values(self, symbol: str, attribute: str) -> NDArray[np.float64]:
        """One symbol's values of an attribute, ascending."""
        key = (symbol, attribute)
        if key not in self._sorted:
            self._sorted[key] = np.sort(self.series[symbol].numbers[attribute].astype(np.float64))
        return self._sorted[key]

    def pooled_values(self, attribute: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """All symbols' values, ascending, and the cumulative share of publications up to and including each."""
        if attribute not in self._pooled:
            values = np.concatenate([quotes.numbers[attribute].astype(np.float64) for quotes in self.series.values()])
            shares = np.concatenate(
                [np.full(len(quotes), self.weights[quotes.symbol] / len(quotes)) for quotes in self.series.values()]
            )
            order = np.argsort(values, kind="stable")
            self._pooled[attribute] = values[order], np.cumsum(shares[order])
        return self._pooled[attribute]


def subscribers(
    section: QuoteSubscriptions, brokers: Sequence[str], distribution: QuoteDistribution, seed: int
) -> tuple[Subscriber, ...]:
    """The subscribers of a scenario, at `brokers`, without those that follow a publisher."""
    choose = _OVER[section.range_over]
    ranked = list(distribution.symbols)
    stream(seed, "popularity").shuffle(ranked)
    exponent = section.exponent if section.popularity == "zipf" else 0.0
    cumulative = list(accumulate(1 / rank**exponent for rank in range(1, len(ranked) + 1)))
    result = []
    for number in range(1, len(brokers) + 1):
        rng = stream(seed, f"subscriber:{number}")
        choices = tuple(
            choose(rng.choices(ranked, cum_weights=cumulative)[0], section.selectivity.draw(rng), distribution, rng)
            for _ in range(section.per_subscriber)
        )
        result.append(Subscriber(f"S{number}", brokers[number - 1], choices))
    return tuple(result)


def followers(
    first: int, publisher: Publisher, symbols: int, brokers: Sequence[str], weights: Mapping[str, float]
) -> tuple[Subscriber, ...]:
    """Subscribers, numbered from `first`, at `brokers`, to all publications of one publisher.

    With several `symbols` they subscribe to a range of symbols by name around the publisher's own, of any class;
    `weights` are the shares of all symbols in the publications of the other publishers.
    """
    own = [series.symbol for series in publisher.series]
    choices = tuple(
        ChosenSubscription(
            tuple(Predicate(name, Operator.STRING_EQUAL, value) for name, value in series.constants.items()), 0.0
        )
        for series in publisher.series
    )
    if symbols > 1:
        chosen = _neighbours(sorted({*weights, *own}), own[0], symbols)
        others = sum(weights.get(symbol, 0.0) for symbol in chosen if symbol not in own)
        choices = (ChosenSubscription(_symbols_between(chosen[0], chosen[-1]), others), *choices[1:])
    return tuple(
        Subscriber(f"S{first + place}", broker, choices, follows=publisher.client)
        for place, broker in enumerate(brokers)
    )


def _neighbours(symbols: Sequence[str], symbol: str, count: int) -> Sequence[str]:
    """`count` consecutive symbols, with this one as near to their middle as possible."""
    first = min(max(symbols.index(symbol) - count // 2, 0), len(symbols) - count)
    return symbols[first : first + count]


def _symbols_between(first: str, last: str) -> tuple[Predicate, ...]:
    return (
        Predicate("symbol", Operator.STRING_GREATER_OR_EQUAL, first),
        Predicate("symbol", Operator.STRING_LESS_OR_EQUAL, last),
    )


def _among_quotes(
    symbol: str, selectivity: float, distribution: QuoteDistribution, rng: random.Random
) -> ChosenSubscription:
    attribute = rng.choice(distribution.attributes)
    constants = distribution.series[symbol].constants
    weight = distribution.weights[symbol]
    if selectivity <= weight:
        named = tuple(Predicate(name, Operator.STRING_EQUAL, value) for name, value in constants.items())
        bounds, share = _range_of_symbol(symbol, attribute, selectivity / weight, distribution, rng)
        return ChosenSubscription((*named, *bounds), weight * share)
    bounds, share = _range_of_all(symbol, attribute, selectivity, distribution, rng)
    return ChosenSubscription((Predicate("class", Operator.STRING_EQUAL, constants["class"]), *bounds), share)


def _among_symbols(
    symbol: str, selectivity: float, distribution: QuoteDistribution, rng: random.Random
) -> ChosenSubscription:
    """A symbol and its neighbours by name, as many as have the share if all symbols are equally frequent."""
    symbols = distribution.symbols
    count = min(max(1, round(selectivity * len(symbols))), len(symbols))
    place = symbols.index(symbol) - rng.randrange(count)
    first = min(max(place, 0), len(symbols) - count)
    chosen = symbols[first : first + count]
    word = distribution.series[symbol].constants["class"]
    predicates = (Predicate("class", Operator.STRING_EQUAL, word), *_symbols_between(chosen[0], chosen[-1]))
    return ChosenSubscription(predicates, sum(distribution.weights[symbol] for symbol in chosen))


_OVER = {"quotes": _among_quotes, "symbols": _among_symbols}
"""The choice of a subscription for each value of `range_over`."""


def _range_of_symbol(
    symbol: str, attribute: str, share: float, distribution: QuoteDistribution, rng: random.Random
) -> tuple[tuple[Predicate, ...], float]:
    """A range that holds `share` of one symbol's quotes (at least one quote): the lowest, the highest, or between."""
    values = distribution.sorted_values(symbol, attribute)
    wanted = min(max(1, round(share * len(values))), len(values))
    room = len(values) - wanted
    first = rng.choice((0, room, rng.randint(0, room)))
    low, high = values[first], values[first + wanted - 1]
    held = np.searchsorted(values, high, side="right") - np.searchsorted(values, low, side="left")
    return _bounds(attribute, low if first > 0 else None, high if first < room else None), float(held) / len(values)


def _range_of_all(
    symbol: str, attribute: str, share: float, distribution: QuoteDistribution, rng: random.Random
) -> tuple[tuple[Predicate, ...], float]:
    """A range that holds `share` of all publications, as near as possible to a quote of one symbol."""
    values, cumulative = distribution.pooled_values(attribute)
    quote = rng.choice(distribution.sorted_values(symbol, attribute).tolist())
    centre = cumulative[np.searchsorted(values, quote, side="left")]
    begin = min(max(0.0, centre - share / 2), 1.0 - share)
    first = int(np.searchsorted(cumulative, begin, side="right"))
    last = min(int(np.searchsorted(cumulative, begin + share, side="left")), len(values) - 1)
    low = values[first] if first > 0 else None
    high = values[last] if last < len(values) - 1 else None
    return _bounds(attribute, low, high), share


def _bounds(attribute: str, low: float | None, high: float | None) -> tuple[Predicate, ...]:
    bounds = ((Operator.GREATER_OR_EQUAL, low), (Operator.LESS_OR_EQUAL, high))
    return tuple(Predicate(attribute, operator, _plain(value)) for operator, value in bounds if value is not None)


def _plain(value: float) -> int | float:
    """The value, as an integer when it is whole, because volumes are integers."""
    number = float(value)
    return int(number) if number.is_integer() else number
