"""Publishers: who publishes which symbols, when, and which quote each time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

from broker_service.language import Value
from emulation.scenario import IndividualPublisher, Publications
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
    joins: float | None = None
    """Seconds into the run phase at which it advertises and begins to publish; None: it is there from the beginning."""
    stops: float | None = None
    """Seconds into the run phase at which it publishes no more; None: it publishes to the end."""
    leaves: float | None = None
    """Seconds into the run phase at which it takes its advertisements back; None: never."""

    def publishing(self, run: float) -> tuple[float, float]:
        """From when to when it publishes, in seconds of a run phase that lasts so many."""
        ends = [time for time in (self.stops, self.leaves) if time is not None]
        return self.joins or 0.0, min([run, *ends])

    def advertisements(self, at: int = 0) -> list[Operation]:
        """Its advertisements, all at one time: when is for the join phase to say, unless it joins later."""
        return [
            Operation(
                at=at,
                client=self.client,
                broker=self.broker,
                operation=OperationKind.ADVERTISE,
                id=f"a{number}",
                predicates=[predicate_record(predicate) for predicate in series.advertisement()],
            )
            for number, series in enumerate(self.series, start=1)
        ]

    def withdrawals(self, at: int) -> list[Operation]:
        """Takes all its advertisements back."""
        return [
            msgspec.structs.replace(made, operation=OperationKind.UNADVERTISE, predicates=None)
            for made in self.advertisements(at)
        ]

    def run_operations(self, begin: int, run: float, arrivals: str, seed: int) -> Iterator[Operation]:
        """What it does in a run phase that begins at `begin` (nanoseconds) and lasts `run` seconds."""
        if self.joins is not None:
            yield from self.advertisements(begin + round(self.joins * NANOSECONDS))
        start, end = (round(time * NANOSECONDS) for time in self.publishing(run))
        yield from self._publications(begin + start, end - start, arrivals, seed)
        if self.leaves is not None:
            yield from self.withdrawals(begin + round(self.leaves * NANOSECONDS))

    def _publications(self, begin: int, run: int, arrivals: str, seed: int) -> Iterator[Operation]:
        """Its publications from `begin` on, for `run` nanoseconds.

        Over that time a publisher walks through the whole history of each of its symbols in order, at a stride that
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
    shares = _shares(len(series), section.publishers, section.publishers_per_symbol)
    made = []
    for number, (home, symbols) in enumerate(zip(homes, shares, strict=True), start=1):
        client = f"P{number}"
        own = section.individually.get(client, IndividualPublisher())
        made.append(
            Publisher(
                client=client,
                broker=home,
                series=tuple(series[symbol] for symbol in symbols),
                rate=(own.rate or section.rate).draw(stream(seed, f"rate:{client}")),
                joins=own.joins,
                stops=own.stops,
                leaves=own.leaves,
            )
        )
    return tuple(made)


def symbol_weights(everyone: Sequence[Publisher]) -> dict[str, float]:
    """The share of each symbol in all publications, while everybody publishes."""
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
