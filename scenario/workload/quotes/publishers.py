"""Publishers: their symbols, the times of their publications, and the quote of each."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import msgspec

from broker_service.language import Value
from broker_service.language.model import CLASS
from broker_service.language.records import predicate_record
from record.time_units import SECOND
from scenario.sections.workload.quotes import IndividualPublisher, QuotePublications
from scenario.workload.operations import OperationKind, PlannedOperation
from scenario.workload.quotes.series import QuoteSeries
from scenario.workload.streams import stream


@dataclass(frozen=True, slots=True)
class PublicationBurst:
    """Publications of one publisher on top of its rate."""

    at: float
    """Seconds into the run phase."""
    publications: int
    rate: float
    """Publications a second."""

    def within(self, start: float, end: float) -> int:
        """Approximate number of its publications between two times, in seconds of the run phase."""
        lasts = self.publications / self.rate
        share = (min(end, self.at + lasts) - max(start, self.at)) / lasts
        return round(self.publications * min(max(share, 0.0), 1.0))


@dataclass(frozen=True, slots=True)
class Publisher:
    """One publishing client."""

    client: str
    broker: str
    series: tuple[QuoteSeries, ...]
    """The symbols that it advertises, one by one, and publishes in turn."""
    rate: float
    """Publications per second, of all its symbols together."""
    joins: float | None = None
    """Seconds into the run phase at which it advertises and starts to publish; None for a client of the join phase."""
    stops: float | None = None
    """Seconds into the run phase at which it stops publishing; None for the end of the phase."""
    leaves: float | None = None
    """Seconds into the run phase at which it withdraws its advertisements; None for never."""
    bursts: tuple[PublicationBurst, ...] = ()
    apart: bool = False
    """True if its quotes have a class of their own, to which only its followers subscribe."""

    def expected_publications(self, run: float) -> float:
        """Expected number of publications in a run phase of `run` seconds."""
        start, end = self.publishing(run)
        return self.rate * (end - start) + sum(burst.within(start, end) for burst in self.bursts)

    def publishing(self, run: float) -> tuple[float, float]:
        """Start and end of its publications, in seconds of a run phase that lasts `run` seconds."""
        ends = [time for time in (self.stops, self.leaves) if time is not None]
        return self.joins or 0.0, min([run, *ends])

    def advertisements(self, at: int = 0) -> list[PlannedOperation]:
        """The publisher's advertisements, all at the time `at`. The join phase replaces that time unless it joins
        later."""
        return [
            PlannedOperation(
                at=at,
                client=self.client,
                broker=self.broker,
                operation=OperationKind.ADVERTISE,
                id=f"a{number}",
                predicates=[predicate_record(predicate) for predicate in series.advertisement()],
            )
            for number, series in enumerate(self.series, start=1)
        ]

    def withdrawals(self, at: int) -> list[PlannedOperation]:
        """Withdrawals of all its advertisements."""
        return [
            msgspec.structs.replace(made, operation=OperationKind.UNADVERTISE, predicates=None)
            for made in self.advertisements(at)
        ]

    def run_operations(self, begin: int, run: float, arrivals: str, seed: int) -> Iterator[PlannedOperation]:
        """The publisher's operations in a run phase that starts at `begin` (nanoseconds) and lasts `run` seconds."""
        if self.joins is not None:
            yield from self.advertisements(begin + round(self.joins * SECOND))
        start, end = (round(time * SECOND) for time in self.publishing(run))
        yield from self._publications(begin + start, end - start, arrivals, seed)
        if self.leaves is not None:
            yield from self.withdrawals(begin + round(self.leaves * SECOND))

    def _publications(self, begin: int, run: int, arrivals: str, seed: int) -> Iterator[PlannedOperation]:
        """The publications from `begin` on, for `run` nanoseconds.

        Over that time a publisher walks through the whole history of each of its symbols in order, at a fitting
        stride, so that the quantiles behind subscriptions hold for a run of any length.
        """
        walks = [self._walk(series, run, seed) for series in self.series]
        since = (self.joins or 0.0) * SECOND
        usual = self._times(run, arrivals, seed) if self.rate else iter(())
        bursts = [self._burst_times(number, since, arrivals, seed) for number in range(len(self.bursts))]
        times = (time for time in heapq.merge(usual, *bursts) if 0 <= time < run)
        for number, time in enumerate(times):
            yield PlannedOperation(
                at=begin + time,
                client=self.client,
                broker=self.broker,
                operation=OperationKind.PUBLISH,
                id=f"{self.client}:{number + 1}",
                attributes=next(walks[number % len(walks)]),
            )

    def _times(self, run: int, arrivals: str, seed: int) -> Iterator[int]:
        rng = stream(seed, f"times:{self.client}")
        gap = SECOND / self.rate
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

    def _burst_times(self, number: int, since: float, arrivals: str, seed: int) -> Iterator[int]:
        """Times of one burst, in nanoseconds since the publisher's first publication time."""
        burst = self.bursts[number]
        rng = stream(seed, f"burst:{self.client}:{number}")
        begin, gap = burst.at * SECOND - since, SECOND / burst.rate
        if arrivals == "periodic":
            yield from (int(begin + place * gap) for place in range(burst.publications))
            return
        for _ in range(burst.publications):
            begin += rng.expovariate(1.0) * gap
            yield int(begin)

    def _walk(self, series: QuoteSeries, run: int, seed: int) -> Iterator[dict[str, Value]]:
        burst = sum(burst.publications for burst in self.bursts)
        expected = (self.rate * run / SECOND + burst) / len(self.series)
        stride = max(1.0, len(series) / max(expected, 1.0))
        position = stream(seed, f"quotes:{self.client}:{series.symbol}").random() * stride
        while True:
            yield series.attributes(int(position) % len(series))
            position += stride


def publishers(
    section: QuotePublications, brokers: Sequence[str], series: Sequence[QuoteSeries], seed: int
) -> tuple[Publisher, ...]:
    """The publishers of a scenario, at `brokers` or at their individual ones, with the symbols divided among them."""
    shares = _shares(len(series), section.publishers, section.publishers_per_symbol)
    made = []
    for number, (broker, symbols) in enumerate(zip(brokers, shares, strict=True), start=1):
        client = f"P{number}"
        own = section.individually.get(client, IndividualPublisher())
        made.append(
            Publisher(
                client=client,
                broker=own.broker or broker,
                series=tuple(_of_class(series[symbol], own.quote_class) for symbol in symbols),
                rate=(own.rate or section.rate).draw(stream(seed, f"rate:{client}")),
                joins=own.joins,
                stops=own.stops,
                leaves=own.leaves,
                bursts=tuple(
                    PublicationBurst(
                        burst.at, burst.publications, burst.rate.draw(stream(seed, f"burst:{client}:{place}"))
                    )
                    for place, burst in enumerate(own.bursts)
                ),
                apart=own.quote_class is not None,
            )
        )
    return tuple(made)


def _of_class(series: QuoteSeries, name: str | None) -> QuoteSeries:
    return series if name is None else replace(series, constants={**series.constants, CLASS: name})


def symbol_weights(everyone: Sequence[Publisher]) -> dict[str, float]:
    """The share of each symbol in all publications while all publishers publish and none has a burst.

    Publishers whose quotes have a class of their own do not count.
    """
    usual = [publisher for publisher in everyone if not publisher.apart]
    total = sum(publisher.rate for publisher in usual) or 1.0
    weights: dict[str, float] = {}
    for publisher in usual:
        for series in publisher.series:
            weight = publisher.rate / len(publisher.series) / total
            weights[series.symbol] = weights.get(series.symbol, 0.0) + weight
    return weights


def _shares(symbols: int, count: int, per_symbol: int) -> list[list[int]]:
    """The symbols of each publisher: every symbol has `per_symbol` publishers, every publisher has a symbol."""
    shares: list[list[int]] = [[] for _ in range(count)]
    for symbol in range(symbols):
        for repeat in range(per_symbol):
            shares[(symbol + repeat) % count].append(symbol)
    for index, share in enumerate(shares):
        if not share:
            share.append(index % symbols)
    return shares
