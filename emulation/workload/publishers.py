"""Publishers: who publishes which symbols, when, and which quote each time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from broker_service.language import Value
from emulation.scenario import Publications
from emulation.workload.operations import Operation, OperationKind, predicate_record
from emulation.workload.quotes import QuoteSeries
from emulation.workload.streams import stream

NANOSECONDS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Publisher:
    """One publishing client."""

    client: str
    broker: str
    series: tuple[QuoteSeries, ...]
    """What it advertises (one advertisement a symbol) and publishes, symbol after symbol."""
    rate: float
    """Publications per second, of all its symbols together."""

    def advertisements(self) -> list[Operation]:
        """Its advertisements, all at time 0: when is for the join phase to say."""
        return [
            Operation(
                at=0,
                client=self.client,
                broker=self.broker,
                operation=OperationKind.ADVERTISE,
                id=f"a{number}",
                predicates=[predicate_record(predicate) for predicate in series.advertisement()],
            )
            for number, series in enumerate(self.series, start=1)
        ]

    def publications(self, begin: int, run: int, arrivals: str, seed: int) -> Iterator[Operation]:
        """Its publications from `begin` on, for `run` nanoseconds.

        Over the run a publisher walks through the whole history of each of its symbols in order, at a stride that
        fits: so the quantiles that subscriptions are made of hold for a run of any length.
        """
        walks = [self._walk(series, run, seed) for series in self.series]
        for number, time in enumerate(self._times(run, arrivals, seed)):
            yield Operation(
                at=begin + time,
                client=self.client,
                broker=self.broker,
                operation=OperationKind.PUBLISH,
                id=f"{self.client}:{number + 1}",
                attributes=next(walks[number % len(walks)]),
            )

    def _times(self, run: int, arrivals: str, seed: int) -> Iterator[int]:
        rng = stream(seed, f"times:{self.client}")
        gap = NANOSECONDS / self.rate
        if arrivals == "periodic":
            phase, number = rng.random() * gap, 0
            while (time := int(phase + number * gap)) < run:
                yield time
                number += 1
        else:
            at = rng.expovariate(1.0) * gap
            while at < run:
                yield int(at)
                at += rng.expovariate(1.0) * gap

    def _walk(self, series: QuoteSeries, run: int, seed: int) -> Iterator[dict[str, Value]]:
        expected = self.rate * run / NANOSECONDS / len(self.series)
        stride = max(1.0, len(series) / max(expected, 1.0))
        position = stream(seed, f"quotes:{self.client}:{series.symbol}").random() * stride
        while True:
            yield series.attributes(int(position) % len(series))
            position += stride


def publishers(
    section: Publications, homes: Sequence[str], series: Sequence[QuoteSeries], seed: int
) -> tuple[Publisher, ...]:
    """The publishers of a scenario, at the brokers `homes`, sharing the symbols among them."""
    symbols = _shares(len(series), section.publishers, section.publishers_per_symbol)
    return tuple(
        Publisher(
            client=f"P{index + 1}",
            broker=homes[index],
            series=tuple(series[symbol] for symbol in symbols[index]),
            rate=section.rate.draw(stream(seed, f"rate:P{index + 1}")),
        )
        for index in range(section.publishers)
    )


def symbol_weights(everyone: Sequence[Publisher]) -> dict[str, float]:
    """The share of each symbol in all publications."""
    total = sum(publisher.rate for publisher in everyone)
    weights: dict[str, float] = {}
    for publisher in everyone:
        for series in publisher.series:
            weight = publisher.rate / len(publisher.series) / total
            weights[series.symbol] = weights.get(series.symbol, 0.0) + weight
    return weights


def _shares(symbols: int, count: int, per_symbol: int) -> list[list[int]]:
    """Which symbols each publisher has: each symbol at `per_symbol` publishers, and nobody without one."""
    shares: list[list[int]] = [[] for _ in range(count)]
    for symbol in range(symbols):
        for repeat in range(per_symbol):
            shares[(symbol + repeat) % count].append(symbol)
    for index, share in enumerate(shares):
        if not share:
            share.append(index % symbols)
    return shares
