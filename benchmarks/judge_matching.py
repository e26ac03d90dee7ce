"""Time of the judge's matching beside that of the brokers' index, on the same contents, in one run.

    python -m benchmarks.judge_matching            a million publications, 10,000 subscriptions; about 2 minutes
    python -m benchmarks.judge_matching --quick    a tenth of the publications, 20 seconds

Where a publication matches more than a few subscriptions, a tenth of the publications is enough to tell.
Both sides take contents as the analysis keeps them, encoded, and return the numbers of the subscriptions that each
publication matches. They take turns, chunk by chunk, so that other load on the host meets both alike. A result that
differs ends the benchmark.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import process_time

import msgspec
from rich.table import Table

from analysis.judging.language import Columns, Matcher, condition_of
from analysis.reading.publication_events import decode_content
from benchmarks.matching import SYMBOLS, WORKLOADS, Subscriptions, Workload
from benchmarks.support.quotes import quotes_of_symbols
from benchmarks.targets import Bound, Judgement, Target, conclude, console
from broker_service.language import Publication, Subscription
from broker_service.matching import MatchIndex
from scenario.workload.quotes.series import QuoteSeries

PUBLICATIONS = {workload.name: 100_000 for workload in WORKLOADS} | {WORKLOADS[0].name: 1_000_000}
"""Number of publications to match, by workload."""
QUICK_SHARE = 10
"""Divisor of the number of publications in the quick form."""
SUBSCRIPTIONS = 10_000
SAMPLE = 300
"""Publications by which the width of ranges is found."""
SEED = 1

RATIO = Target("time of the judge's matching, of that of the brokers' index, worst workload", Bound.AT_MOST, 1, "times")


@dataclass(frozen=True, slots=True)
class Trial:
    """Both sides on one workload, in seconds."""

    workload: str
    publications: int
    matches: float
    """Subscriptions that a publication matches, on average."""
    index: float
    judge: float


class _Quotes:
    """Contents drawn from quotes."""

    def __init__(self, series: Sequence[QuoteSeries], rng: random.Random) -> None:
        self._series = series
        self._rng = rng

    def encoded(self, count: int) -> list[bytes]:
        """This number of contents, as the analysis keeps them."""
        return [msgspec.json.encode(quote) for quote in self.drawn(count)]

    def drawn(self, count: int) -> Iterator[dict[str, int | float | str]]:
        for _ in range(count):
            series = self._rng.choice(self._series)
            yield series.attributes(self._rng.randrange(len(series)))


def measure(workload: Workload, subscriptions: Sequence[Subscription], quotes: _Quotes, publications: int) -> Trial:
    """Matches publications on both sides. Raises `SystemExit` where these differ."""
    begin = process_time()
    index: MatchIndex[int] = MatchIndex()
    for number, subscription in enumerate(subscriptions):
        index.add(number, subscription)
    by_index = process_time() - begin
    begin = process_time()
    matcher = Matcher(
        [
            tuple(condition_of(made.attribute, made.operator.value, made.value) for made in subscription.predicates)
            for subscription in subscriptions
        ]
    )
    by_judge = process_time() - begin
    found = 0
    for first in range(0, publications, matcher.chunk):
        contents = quotes.encoded(min(matcher.chunk, publications - first))
        begin = process_time()
        expected = [tuple(index.match(Publication(decode_content(content)).attributes)) for content in contents]
        by_index += process_time() - begin
        begin = process_time()
        matches = matcher.matches(Columns([decode_content(content) for content in contents]))
        judged = [matches.of(place) for place in range(len(contents))]
        by_judge += process_time() - begin
        if any(sorted(left) != sorted(right) for left, right in zip(expected, judged, strict=True)):
            raise SystemExit(f"wrong: {workload.name}: the judge and the brokers' index match differently")
        found += sum(map(len, judged))
    return Trial(workload.name, publications, found / publications, by_index, by_judge)


def _table(trials: Sequence[Trial]) -> Table:
    table = Table(title=f"seconds for {SUBSCRIPTIONS:,} subscriptions", title_justify="left")
    table.add_column("workload")
    for heading in ("publications", "matches", "brokers' index", "judge", "ratio"):
        table.add_column(heading, justify="right")
    for trial in trials:
        table.add_row(
            trial.workload,
            f"{trial.publications:,}",
            f"{trial.matches:,.1f}",
            f"{trial.index:,.1f}",
            f"{trial.judge:,.1f}",
            f"{trial.judge / trial.index:.2f}",
        )
    return table


def run(arguments: Sequence[str]) -> list[Judgement]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the publications")
    parser.add_argument("--workload", choices=[made.name for made in WORKLOADS], help="only this workload")
    options = parser.parse_args(arguments)
    rng = random.Random(SEED)
    series, origin = quotes_of_symbols(SYMBOLS, SEED)
    quotes, screen = _Quotes(series, rng), console()
    screen.print(f"quotes: {origin}")
    trials = []
    for workload in WORKLOADS:
        if options.workload in (None, workload.name):
            drawn = Subscriptions(workload, series, rng)
            width = drawn.width_for(workload.share, list(quotes.drawn(SAMPLE)))
            publications = PUBLICATIONS[workload.name] // (QUICK_SHARE if options.quick else 1)
            trials.append(measure(workload, drawn.draw(SUBSCRIPTIONS, width), quotes, publications))
    screen.print(_table(trials))
    return [RATIO.judge(max(trial.judge / trial.index for trial in trials))]


if __name__ == "__main__":
    sys.exit(conclude(run(sys.argv[1:])))
