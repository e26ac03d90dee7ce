"""Subscribers: whose symbols, and which ranges, so that a subscription matches the share of publications it should.

A subscription first chooses a symbol by popularity. Where that symbol alone has at least the wanted share of all
publications, the subscription names it and takes a range of one attribute that holds the right part of its quotes;
otherwise it takes a range over the quotes of all symbols, around a quote of the chosen one. A scenario may have whole
symbols taken instead: so many neighbours of the chosen one, by name, as have the wanted share.

Followers are subscribers of another kind: they want all quotes of one publisher, and perhaps of its neighbours by name.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from broker_service.language import Operator, Predicate
from emulation.scenario import Subscriptions
from emulation.workload.operations import Operation, OperationKind, predicate_record
from emulation.workload.publishers import Publisher
from emulation.workload.quotes import QuoteSeries
from emulation.workload.streams import stream


@dataclass(frozen=True, slots=True)
class Choice:
    """A subscription and the share of all publications that it is expected to match."""

    predicates: tuple[Predicate, ...]
    selectivity: float


@dataclass(frozen=True, slots=True)
class Subscriber:
    """One subscribing client."""

    client: str
    broker: str
    choices: tuple[Choice, ...]
    follows: str | None = None
    """The publisher all of whose publications it wants; selectivities are then shares of what others publish."""

    def subscriptions(self) -> list[Operation]:
        """Its subscriptions, all at time 0: when is for the join phase to say."""
        return [
            Operation(
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
        """Of all publications (but those of the publisher it follows), the share it is expected to be notified of.

        Once, however many of its own subscriptions match.
        """
        missed = 1.0
        for choice in self.choices:
            missed *= 1.0 - choice.selectivity
        return 1.0 - missed


class QuoteDistribution:
    """The distribution of each attribute over the quotes that will be published, by symbol and over all of them."""

    def __init__(self, series: Sequence[QuoteSeries], weights: Mapping[str, float]) -> None:
        """`weights` are the symbols' shares of all publications; all series have the same numeric attributes."""
        self.series = {one.symbol: one for one in series}
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
        """All symbols' values, ascending, and the share of publications up to and with each."""
        if attribute not in self._pooled:
            values = np.concatenate([one.numbers[attribute].astype(np.float64) for one in self.series.values()])
            shares = np.concatenate(
                [np.full(len(one), self.weights[one.symbol] / len(one)) for one in self.series.values()]
            )
            order = np.argsort(values, kind="stable")
            self._pooled[attribute] = values[order], np.cumsum(shares[order])
        return self._pooled[attribute]


def subscribers(
    section: Subscriptions, homes: Sequence[str], distribution: QuoteDistribution, seed: int
) -> tuple[Subscriber, ...]:
    """The subscribers of a scenario, at the brokers `homes`, but for those that follow a publisher."""
    choose = _OVER[section.range_over]
    ranked = list(distribution.symbols)
    stream(seed, "popularity").shuffle(ranked)
    exponent = section.exponent if section.popularity == "zipf" else 0.0
    cumulative = list(accumulate(1 / rank**exponent for rank in range(1, len(ranked) + 1)))
    result = []
    for number in range(1, len(homes) + 1):
        rng = stream(seed, f"subscriber:{number}")
        choices = tuple(
            choose(rng.choices(ranked, cum_weights=cumulative)[0], section.selectivity.draw(rng), distribution, rng)
            for _ in range(section.per_subscriber)
        )
        result.append(Subscriber(f"S{number}", homes[number - 1], choices))
    return tuple(result)


def followers(
    first: int, publisher: Publisher, symbols: int, homes: Sequence[str], weights: Mapping[str, float]
) -> tuple[Subscriber, ...]:
    """Subscribers, numbered from `first`, at the brokers `homes`, who want all that a publisher publishes.

    With several `symbols` that is a range of them by name around the publisher's own, of quotes of any class; `weights`
    are the shares of all symbols in what the other publishers publish.
    """
    own = [series.symbol for series in publisher.series]
    choices = tuple(
        Choice(tuple(Predicate(name, Operator.STRING_EQUAL, value) for name, value in series.constants.items()), 0.0)
        for series in publisher.series
    )
    if symbols > 1:
        chosen = _neighbours(sorted({*weights, *own}), own[0], symbols)
        others = sum(weights.get(one, 0.0) for one in chosen if one not in own)
        choices = (Choice(_symbols_between(chosen[0], chosen[-1]), others), *choices[1:])
    return tuple(
        Subscriber(f"S{first + place}", home, choices, follows=publisher.client) for place, home in enumerate(homes)
    )


def _neighbours(symbols: Sequence[str], symbol: str, count: int) -> Sequence[str]:
    """So many symbols in order, with this one as near to their middle as can be."""
    first = min(max(symbols.index(symbol) - count // 2, 0), len(symbols) - count)
    return symbols[first : first + count]


def _symbols_between(first: str, last: str) -> tuple[Predicate, ...]:
    return (
        Predicate("symbol", Operator.STRING_GREATER_OR_EQUAL, first),
        Predicate("symbol", Operator.STRING_LESS_OR_EQUAL, last),
    )


def _among_quotes(symbol: str, selectivity: float, distribution: QuoteDistribution, rng: random.Random) -> Choice:
    attribute = rng.choice(distribution.attributes)
    constants = distribution.series[symbol].constants
    weight = distribution.weights[symbol]
    if selectivity <= weight:
        named = tuple(Predicate(name, Operator.STRING_EQUAL, value) for name, value in constants.items())
        bounds, share = _range_of_symbol(symbol, attribute, selectivity / weight, distribution, rng)
        return Choice((*named, *bounds), weight * share)
    bounds, share = _range_of_all(symbol, attribute, selectivity, distribution, rng)
    return Choice((Predicate("class", Operator.STRING_EQUAL, constants["class"]), *bounds), share)


def _among_symbols(symbol: str, selectivity: float, distribution: QuoteDistribution, rng: random.Random) -> Choice:
    """As many neighbours of a symbol, by name, as have the wanted share if all have the same; at least the symbol."""
    symbols = distribution.symbols
    count = min(max(1, round(selectivity * len(symbols))), len(symbols))
    place = symbols.index(symbol) - rng.randrange(count)
    first = min(max(place, 0), len(symbols) - count)
    chosen = symbols[first : first + count]
    word = distribution.series[symbol].constants["class"]
    predicates = (Predicate("class", Operator.STRING_EQUAL, word), *_symbols_between(chosen[0], chosen[-1]))
    return Choice(predicates, sum(distribution.weights[one] for one in chosen))


_OVER = {"quotes": _among_quotes, "symbols": _among_symbols}
"""How a subscription chooses, by what `range_over` says."""


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
    """A range that holds `share` of all publications, as near as can be to a quote of one symbol."""
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
    """Whole numbers as integers, which is how volumes are written."""
    number = float(value)
    return int(number) if number.is_integer() else number
