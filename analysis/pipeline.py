"""The analysis: four stages and what is made of their tallies, whichever engine runs them.

1. `reading`: log files -> counts, client operations, faults; sightings of publications.
2. `judging`, by publication: sightings -> journeys, verdicts of the oracle; what became of each publication.
3. `ordering`, by publisher: the tables `notifications` and `expected`, counts of defects, examples; delays.
4. `delays`, by what notifications are seen together: percentiles.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, Self, TypeVar

from analysis.engines.interface import Exchange, Workers
from analysis.judging.delays import DelayTables, DelayTally, measure_delays
from analysis.judging.fault_counts import VariantFaults
from analysis.judging.fault_tables import FaultTables
from analysis.judging.histories import faults_of, histories_of, reading_of
from analysis.judging.judging import Judging, JudgingTally
from analysis.judging.ordering import Ordering, OrderingTally, VariantOrder
from analysis.judging.router_work import WorkTables
from analysis.reading.lifetimes import Lifetime, lifetimes
from analysis.reading.progress import Progress, counted
from analysis.reading.reading import ReadTally
from analysis.reading.traffic import TrafficTables
from analysis.run_files.logs import divide
from analysis.run_files.run_directory import RunDirectory
from analysis.tables.partitions import parts_directory, publish_parts
from analysis.tables.tables import Expectation, Notification
from record.errors import RunDirectoryError

LARGEST_SHARE = 32 << 20
"""Bytes of logs that one task reads; about 150,000 records."""
SMALLEST_SHARE = 1 << 20
BUCKET_BYTES = 64 << 20
"""Of logs, for each bucket of publications: what a worker holds at a time is about as large."""


@dataclass(frozen=True)
class Findings:
    """All that the tallies of a run come to."""

    read: ReadTally
    lifetimes: list[Lifetime]
    judging: JudgingTally
    ordering: OrderingTally
    traffic: TrafficTables
    delays: DelayTables
    faults: FaultTables
    work: WorkTables


class _Mergeable(Protocol):
    def merge(self, other: Self) -> None: ...


_Tally = TypeVar("_Tally", bound=_Mergeable)


def find(run: RunDirectory, workers: Workers, tell: Progress) -> Findings:
    """Runs the stages. Writes `results/notifications.parquet` and `results/expected.parquet`."""
    log_bytes = sum(file.stat().st_size for file in run.log_files)
    # Two rounds of tasks; an engine may want a bucket more, for the tallies.
    buckets = max(2 * workers.parallelism - 1, log_bytes // BUCKET_BYTES)
    share = min(max(log_bytes // (2 * workers.parallelism), SMALLEST_SHARE), LARGEST_SHARE)
    shares = divide(run.log_files, share)
    tell("reading logs")
    reads = workers.run(shares, reading_of(run, buckets), buckets)
    read = _merged(reads.tallies(counted("reading logs", tell)), ReadTally())
    if not read.records:
        raise RunDirectoryError(f"{run.logs}: no log holds a single record that can be read")
    lives = lifetimes(read.declared)
    tell(f"judging deliveries, from {read.records:,} records")
    faults = [faults_of(number, one, read.outages, run.brokers) for number, one in enumerate(run.manifest.variants)]
    judged = reads.then(Judging(histories_of(run, lives, read.outages), faults, buckets), buckets)
    judging = _merged(judged.tallies(counted("judging deliveries", tell)), JudgingTally())
    tell("writing notifications")
    against = tuple(
        VariantOrder(
            name=one.name,
            run_start=one.run_start,
            keeps_order=one.keeps_order,
            faults=VariantFaults(times, judging.baselines.late_from(number, times)),
        )
        for number, (one, times) in enumerate(zip(run.manifest.variants, faults, strict=True))
    )
    ordering, delays = _order(run, judged, against, buckets, tell)
    names = tuple(variant.name for variant in run.manifest.variants)
    return Findings(
        read=read,
        lifetimes=lives,
        judging=judging,
        ordering=ordering,
        traffic=TrafficTables(read.traffic, names),
        delays=DelayTables(delays, names),
        faults=FaultTables(against, judging.baselines, ordering.faults, read.neighbours),
        work=WorkTables(judging.work, names),
    )


def _order(
    run: RunDirectory, judged: Exchange[JudgingTally], variants: tuple[VariantOrder, ...], buckets: int, tell: Progress
) -> tuple[OrderingTally, DelayTally]:
    """The last two stages, and the tables of which workers have written parts."""
    names = [variant.name for variant in variants]
    with parts_directory(run.results) as parts:
        ordered = judged.then(Ordering(variants, str(parts.resolve()), buckets), buckets)
        ordering = _merged(ordered.tallies(counted("writing notifications", tell)), OrderingTally())
        delays = _merged(ordered.then(measure_delays, 1).tallies(counted("measuring delays", tell)), DelayTally())
        written = publish_parts(parts, Notification, run.results, names)
        publish_parts(parts, Expectation, run.results, names)
    if written != sum(counts.delivered for counts in ordering.counts.values()):
        raise RunDirectoryError(f"{run.results}: Spark's workers write elsewhere; a cluster must share this directory")
    return ordering, delays


def _merged(tallies: Iterable[_Tally], total: _Tally) -> _Tally:
    for tally in tallies:
        total.merge(tally)
    return total
