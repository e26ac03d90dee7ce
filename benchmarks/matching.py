"""Speed of the matching index on real quotes, its growth with subscriptions, and its memory.

    python -m benchmarks.matching            up to 200,000 subscriptions, about 2 minutes
    python -m benchmarks.matching --quick    up to 10,000 subscriptions; growth is not judged

Every publication is timed by itself; medians and 99th percentiles are over publications. A match returns a list of
keys, so it takes longer than a copy of that list: the column `copy`.
"""

from __future__ import annotations

import argparse
import gc
import math
import random
import statistics
import sys
import tracemalloc
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter_ns

from rich.table import Table

from benchmarks.support.growth import Growth, growth_of
from benchmarks.support.quotes import quotes_of_symbols
from benchmarks.targets import Bound, Judgement, Target, conclude, console
from broker_service.language import Operator, Predicate, Subscription, Value
from broker_service.matching import MatchIndex
from emulation.host.reference_loops import Reference
from scenario.workload.quotes.series import QuoteSeries

Quote = dict[str, Value]
Key = tuple[str, str]

SYMBOLS = 500
SIZES = (1_000, 10_000, 100_000, 200_000)
QUICK_SIZES = (1_000, 10_000)
PUBLICATIONS = 2_000
CHANGES = 2_000
COPIES = 200
"""Publications whose results are kept and copied."""
WEIGHED = 50_000
"""Greatest number of subscriptions whose memory is measured, because tracing slows everything down."""
ROUNDS = 3
"""Times that all publications are matched. The round with the least median counts, because others use the machine."""
SEED = 1

NUMBERS = ("open", "high", "low", "close", "volume")
STOCK = Predicate("class", Operator.STRING_EQUAL, "STOCK")

ADD = Target("addition to the matching index, worst median", Bound.AT_MOST, 50, "us", Reference.INTERPRETER)
REMOVE = Target("removal from the matching index, worst median", Bound.AT_MOST, 50, "us", Reference.INTERPRETER)
BYTES = Target("memory of the matching index for a subscription", Bound.AT_MOST, 1024, "bytes")
GROWTH = Target("growth of a match from 1,000 to 200,000 subscriptions to symbols", Bound.AT_MOST, 3, "times")


@dataclass(frozen=True, slots=True)
class Workload:
    """Shape of subscriptions: `equalities` for one quote's symbol, and ranges that leave about `share` of all."""

    name: str
    share: float
    """Share of all subscriptions that a publication matches."""
    median: Target
    """Median time of a match at the greatest size."""
    equalities: Callable[[str], tuple[Predicate, ...]]
    ranges: tuple[int, int]
    """Fewest and most range predicates of a subscription, besides the equalities."""
    work: str
    """Noun phrase for the work of a match at the greatest size, besides making the list of keys."""


def _class_and_symbol(symbol: str) -> tuple[Predicate, ...]:
    return STOCK, Predicate("symbol", Operator.STRING_EQUAL, symbol)


_ONE_BLOCK = "array operations on the bounds of one symbol's subscriptions"
_MANY_BLOCKS = "comparisons of bounds in the blocks that forks cannot exclude"


def _median(workload: str, milliseconds: float) -> Target:
    return Target(f"median match, {workload}", Bound.AT_MOST, milliseconds, "ms", Reference.MEMORY)


WORKLOADS = (
    Workload("symbol", 0.001, _median("symbol", 0.1), _class_and_symbol, (3, 5), _ONE_BLOCK),
    Workload("class only, 2%", 0.02, _median("class only, 2%", 1), lambda _: (STOCK,), (4, 6), _MANY_BLOCKS),
    Workload("class only, 10%", 0.1, _median("class only, 10%", 2), lambda _: (STOCK,), (4, 6), _MANY_BLOCKS),
    Workload("no equality, 2%", 0.02, _median("no equality, 2%", 2), lambda _: (), (5, 7), _MANY_BLOCKS),
)


class Subscriptions:
    """Random subscriptions whose ranges lie around one quote, wider or narrower."""

    def __init__(self, workload: Workload, series: Sequence[QuoteSeries], rng: random.Random) -> None:
        self._workload = workload
        self._series = series
        self._rng = rng

    def draw(self, count: int, width: float) -> list[Subscription]:
        """New subscriptions; a range extends beyond a quoted value by the factor `width`, to one side."""
        return [self._draw_subscription(width) for _ in range(count)]

    def _draw_subscription(self, width: float) -> Subscription:
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
        """Width at which about this share of the subscriptions of a sample matches a publication."""
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
    """Measurements of one workload at one size. Times are in microseconds."""

    workload: Workload
    size: int
    share: float
    match_median: float
    match_p99: float
    copy_median: float
    """Median time to copy the list that a match returned."""
    add_median: float
    add_mean: float
    remove_median: float
    index_bytes: float
    """Bytes of the index for a subscription, its key and its predicates not counted."""
    all_bytes: float
    """Bytes of a subscription in the index, its key and predicates included, none shared with another."""


def _timed(calls: Iterable[Callable[[], object]]) -> list[float]:
    """Microseconds of each call, in ascending order."""
    times = []
    for call in calls:
        begin = perf_counter_ns()
        call()
        times.append((perf_counter_ns() - begin) / 1000)
    return sorted(times)


def measure(
    workload: Workload, drawn: Sequence[Subscription], publications: Sequence[Quote], rng: random.Random
) -> Result:
    """Fills an index with the subscriptions, then matches, removes and adds."""
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
    copy = _timed([index.match(quote).copy for quote in publications[:COPIES]])
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
        statistics.median(copy),
        statistics.median(add),
        add_mean,
        statistics.median(remove),
        index_bytes,
        all_bytes,
    )


def _weighed(drawn: Sequence[Subscription]) -> tuple[float, float]:
    """Bytes of a subscription: in the index alone, and with key and predicates as if freshly decoded."""
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
    return series, [quotes.attributes(rng.randrange(len(quotes))) for quotes in chosen], origin


def _table(results: Sequence[Result]) -> Table:
    table = Table(
        title="microseconds per publication, addition and removal; bytes per subscription", title_justify="left"
    )
    table.add_column("workload")
    columns = ("subscriptions", "match", "median", "p99", "copy", "add", "fill", "remove", "bytes", "with content")
    for heading in columns:
        table.add_column(heading, justify="right")
    for result in results:
        table.add_row(
            result.workload.name,
            f"{result.size:,}",
            f"{result.share:.2%}",
            f"{result.match_median:,.1f}",
            f"{result.match_p99:,.1f}",
            f"{result.copy_median:,.1f}",
            f"{result.add_median:.1f}",
            f"{result.add_mean:.1f}",
            f"{result.remove_median:.1f}",
            f"{result.index_bytes:.0f}",
            f"{result.all_bytes:.0f}",
            end_section=result.size == SIZES[-1],
        )
    return table


def judge(results: Sequence[Result]) -> list[Judgement]:
    """Judgements of all results; of growth only if there are results up to the greatest size."""
    largest = max(result.size for result in results)
    judgements = [
        result.workload.median.judge(result.match_median / 1000, _growth_of_match(result, results))
        for result in results
        if result.size == largest
    ]
    if largest == SIZES[-1]:
        symbol = [result.match_median for result in results if result.workload is WORKLOADS[0]]
        judgements.append(GROWTH.judge(symbol[-1] / symbol[0]))
    return [
        *judgements,
        _worst(ADD, results, lambda result: result.add_median, "its bounds, made of predicates and written to a block"),
        _worst(REMOVE, results, lambda result: result.remove_median, "its bounds, made again to find its block"),
        _worst(
            BYTES, results, lambda result: result.index_bytes, "two doubles for each attribute, and entries of tables"
        ),
    ]


def _growth_of_match(largest: Result, results: Sequence[Result]) -> Growth | None:
    """Growth of a workload's median match. `largest` is the result at its greatest size."""
    medians = {result.size: result.match_median for result in results if result.workload is largest.workload}
    keys = f"the list of {largest.share * largest.size:,.0f} keys, whose copy alone takes {largest.copy_median:,.1f} us"
    return growth_of("subscriptions", medians, f"{largest.workload.work} and {keys}")


def _worst(target: Target, results: Sequence[Result], value: Callable[[Result], float], bound: str) -> Judgement:
    """Judgement of the greatest value of all results, and the growth of the greatest value at each size."""
    worst: dict[int, float] = {}
    for result in results:
        worst[result.size] = max(value(result), worst.get(result.size, 0))
    return target.judge(max(worst.values()), growth_of("subscriptions", worst, bound))


def run(arguments: Sequence[str]) -> list[Judgement]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="up to 10,000 subscriptions")
    sizes = QUICK_SIZES if parser.parse_args(arguments).quick else SIZES
    screen = console()
    rng = random.Random(SEED)
    series, publications, origin = _series_and_publications(rng)
    load = Path("/proc/loadavg").read_text(encoding="ascii").split()[0]
    screen.print(f"quotes: {origin}\n{PUBLICATIONS:,} publications, seed {SEED}; load average at the start: {load}")
    results = []
    for workload in WORKLOADS:
        subscriptions = Subscriptions(workload, series, rng)
        width = subscriptions.width_for(workload.share, publications[:300])
        for size in sizes:
            with screen.status(f"{workload.name}: {size:,} subscriptions"):
                results.append(measure(workload, subscriptions.draw(size, width), publications, rng))
    screen.print(_table(results))
    return judge(results)


if __name__ == "__main__":
    sys.exit(conclude(run(sys.argv[1:])))
