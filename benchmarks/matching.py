"""How fast the matching index is on real quotes, how it grows, and what it weighs.

    python -m benchmarks.matching            all sizes, against the targets (some 2 minutes)
    python -m benchmarks.matching --quick    up to 10,000 subscriptions

Every publication is timed by itself; medians and 99th percentiles are over publications. Exit code 1: a target missed.
"""

from __future__ import annotations

import gc
import math
import random
import statistics
import tracemalloc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter_ns
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from benchmarks._quotes import quotes_of_symbols
from broker_service.language import Operator, Predicate, Subscription, Value
from broker_service.matching import MatchIndex
from emulation.workload.quotes import QuoteSeries

Quote = dict[str, Value]
Key = tuple[str, str]

SYMBOLS = 500
SIZES = (1_000, 10_000, 100_000, 200_000)
QUICK_SIZES = (1_000, 10_000)
PUBLICATIONS = 2_000
CHANGES = 2_000
WEIGHED = 50_000
"""Subscriptions whose memory is measured, at most: tracing slows everything down."""
WIDTH = 120
"""Columns of the table where the output is no terminal."""
ROUNDS = 3
"""All publications are matched so often, and the round with the least median counts: others may use the machine."""
SEED = 1

NUMBERS = ("open", "high", "low", "close", "volume")
STOCK = Predicate("class", Operator.STRING_EQUAL, "STOCK")

ADD_TARGET = 50.0
REMOVE_TARGET = 50.0
BYTES_TARGET = 1024.0
GROWTH_TARGET = 3.0


@dataclass(frozen=True, slots=True)
class Workload:
    """How subscriptions are made: `equalities` for one quote's symbol, then ranges that leave about `share` of all."""

    name: str
    share: float
    """Subscriptions that a publication matches, of all."""
    target: float
    """Median per publication at the greatest size, in ms."""
    equalities: Callable[[str], tuple[Predicate, ...]]
    ranges: tuple[int, int]
    """Fewest and most range predicates of a subscription, besides the equalities."""


def _class_and_symbol(symbol: str) -> tuple[Predicate, ...]:
    return STOCK, Predicate("symbol", Operator.STRING_EQUAL, symbol)


WORKLOADS = (
    Workload("symbol", 0.001, 0.1, _class_and_symbol, (3, 5)),
    Workload("class only, 2%", 0.02, 1.0, lambda _: (STOCK,), (4, 6)),
    Workload("class only, 10%", 0.1, 2.0, lambda _: (STOCK,), (4, 6)),
    Workload("no equality, 2%", 0.02, 2.0, lambda _: (), (5, 7)),
)


class Subscriptions:
    """Draws subscriptions whose ranges stand around one quote, wider or narrower."""

    def __init__(self, workload: Workload, series: Sequence[QuoteSeries], rng: random.Random) -> None:
        self._workload = workload
        self._series = series
        self._rng = rng

    def draw(self, count: int, width: float) -> list[Subscription]:
        """Return new subscriptions; a range reaches from a quoted value by this factor to one side."""
        return [self._one(width) for _ in range(count)]

    def _one(self, width: float) -> Subscription:
        rng = self._rng
        series = rng.choice(self._series)
        attributes = list(NUMBERS)
        count = rng.randint(*self._workload.ranges)
        chosen = rng.sample(attributes, min(count, len(attributes))) + rng.choices(attributes, k=max(0, count - 5))
        quote = series.attributes(rng.randrange(len(series)))
        ranges = tuple(self._range(attribute, quote, width) for attribute in chosen)
        return Subscription((*self._workload.equalities(series.symbol), *ranges))

    def _range(self, attribute: str, quote: Mapping[str, Value], width: float) -> Predicate:
        value = quote[attribute]
        assert not isinstance(value, str)
        if self._rng.random() < 0.5:
            return Predicate(attribute, Operator.GREATER, round(value / width, 2))
        return Predicate(attribute, Operator.LESS, round(value * width, 2))

    def width_for(self, share: float, publications: Sequence[Quote]) -> float:
        """Return the width at which about this share of a sample matches a publication."""
        low, high = 1 / 64, 1024.0
        for _ in range(12):
            width = math.sqrt(low * high)
            index = _filled(self.draw(3_000, width))
            found = statistics.fmean(len(index.match(quote)) for quote in publications) / len(index)
            low, high = (width, high) if found < share else (low, width)
        return math.sqrt(low * high)


def _key(number: int) -> Key:
    return f"S{number % 997}", f"s{number}"


def _filled(subscriptions: Sequence[Subscription]) -> MatchIndex[Key]:
    index: MatchIndex[Key] = MatchIndex()
    for number, subscription in enumerate(subscriptions):
        index.add(_key(number), subscription)
    return index


@dataclass(frozen=True, slots=True)
class Result:
    """Times in microseconds."""

    workload: Workload
    size: int
    share: float
    match_median: float
    match_p99: float
    add_median: float
    add_mean: float
    remove_median: float
    index_bytes: float
    """Bytes a subscription in the index, its key and its predicates not counted."""
    all_bytes: float
    """Bytes a subscription with its key and predicates, none shared with another."""


def _timed(calls: Iterable[Callable[[], object]]) -> list[float]:
    """Return the microseconds of each call, in ascending order."""
    times = []
    for call in calls:
        begin = perf_counter_ns()
        call()
        times.append((perf_counter_ns() - begin) / 1000)
    return sorted(times)


def measure(
    workload: Workload, drawn: Sequence[Subscription], publications: Sequence[Quote], rng: random.Random
) -> Result:
    """Fill an index with the subscriptions, then publish, remove and add."""
    size = len(drawn)
    gc.collect()
    gc.disable()  # a broker freezes its long-lived subscriptions; a full collection here would hit one call at random
    begin = perf_counter_ns()
    index = _filled(drawn)
    add_mean = (perf_counter_ns() - begin) / 1000 / size
    found = [len(index.match(quote)) for quote in publications]  # warms up, too
    match = min(
        (_timed(partial(index.match, quote) for quote in publications) for _ in range(ROUNDS)), key=statistics.median
    )
    changed = [(_key(number), drawn[number]) for number in rng.sample(range(size), min(CHANGES, size))]
    remove = _timed(partial(index.remove, key) for key, _ in changed)
    add = _timed(partial(index.add, key, subscription) for key, subscription in changed)
    gc.enable()
    index_bytes, all_bytes = _weighed(drawn[:WEIGHED])
    return Result(
        workload,
        size,
        statistics.fmean(found) / size,
        statistics.median(match),
        match[len(match) * 99 // 100],
        statistics.median(add),
        add_mean,
        statistics.median(remove),
        index_bytes,
        all_bytes,
    )


def _weighed(drawn: Sequence[Subscription]) -> tuple[float, float]:
    """Return the bytes a subscription: of the index alone, and with keys and predicates as if freshly decoded."""
    tracemalloc.start()
    own = [
        Subscription(tuple(Predicate(p.attribute, p.operator, _copy(p.value)) for p in subscription.predicates))
        for subscription in drawn
    ]
    keys = [_key(number) for number in range(len(own))]
    before, _ = tracemalloc.get_traced_memory()
    index: MatchIndex[Key] = MatchIndex()
    for key, subscription in zip(keys, own, strict=True):
        index.add(key, subscription)
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return (after - before) / len(index), after / len(index)


def _copy(value: Value) -> Value:
    return (value + " ")[:-1] if isinstance(value, str) else value * 1.0


def _series_and_publications(rng: random.Random) -> tuple[tuple[QuoteSeries, ...], list[Quote], str]:
    series, origin = quotes_of_symbols(SYMBOLS, SEED)
    chosen = [rng.choice(series) for _ in range(PUBLICATIONS)]
    return series, [one.attributes(rng.randrange(len(one))) for one in chosen], origin


def _table(results: Sequence[Result]) -> Table:
    table = Table(
        title="microseconds per publication, addition and removal; bytes per subscription", title_justify="left"
    )
    table.add_column("workload")
    columns = ("subscriptions", "match", "median", "p99", "growth", "add", "fill", "remove", "bytes", "with content")
    for heading in columns:
        table.add_column(heading, justify="right")
    first: dict[str, Result] = {}
    for result in results:
        start = first.setdefault(result.workload.name, result)
        table.add_row(
            result.workload.name,
            f"{result.size:,}",
            f"{result.share:.2%}",
            f"{result.match_median:,.1f}",
            f"{result.match_p99:,.1f}",
            f"{result.match_median / start.match_median:.1f}x",
            f"{result.add_median:.1f}",
            f"{result.add_mean:.1f}",
            f"{result.remove_median:.1f}",
            f"{result.index_bytes:.0f}",
            f"{result.all_bytes:.0f}",
            end_section=result.size == SIZES[-1],
        )
    return table


def _verdicts(results: Sequence[Result]) -> Iterator[tuple[str, float, float, str]]:
    """Yield what is asked for, the measured value, the target and the unit."""
    largest = max(result.size for result in results)
    for result in results:
        if result.size == largest:
            yield f"{result.workload.name}: median", result.match_median / 1000, result.workload.target, "ms"
    symbol = [result for result in results if result.workload is WORKLOADS[0]]
    yield "symbol: growth", symbol[-1].match_median / symbol[0].match_median, GROWTH_TARGET, "x"
    yield "add: worst median", max(result.add_median for result in results), ADD_TARGET, "us"
    yield "remove: worst median", max(result.remove_median for result in results), REMOVE_TARGET, "us"
    yield "index: bytes a subscription", max(result.index_bytes for result in results), BYTES_TARGET, "bytes"


def main(quick: Annotated[bool, typer.Option("--quick", help="Up to 10,000 subscriptions only.")] = False) -> None:
    """Measure the matching index on quotes of 500 symbols."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDTH)
    rng = random.Random(SEED)
    series, publications, origin = _series_and_publications(rng)
    load = Path("/proc/loadavg").read_text(encoding="ascii").split()[0]
    console.print(
        f"quotes: {origin}\n{PUBLICATIONS:,} publications, seed {SEED}; load of this machine at the start: {load}"
    )
    results = []
    for workload in WORKLOADS:
        subscriptions = Subscriptions(workload, series, rng)
        width = subscriptions.width_for(workload.share, publications[:300])
        for size in QUICK_SIZES if quick else SIZES:
            with console.status(f"{workload.name}: {size:,} subscriptions"):
                results.append(measure(workload, subscriptions.draw(size, width), publications, rng))
    console.print(_table(results))
    if quick:
        console.print("The targets are for 200,000 subscriptions: run without --quick to judge them.")
        return
    missed = False
    for name, value, target, unit in _verdicts(results):
        met = value < target
        missed = missed or not met
        console.print(f"{'met   ' if met else 'MISSED'} {name}: {value:.3g} {unit} (target: under {target:g} {unit})")
    raise typer.Exit(int(missed))


if __name__ == "__main__":
    typer.run(main)
