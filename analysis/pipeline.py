"""The analysis: four stages and what is made of their tallies, whichever engine runs them.

1. `reading`: log files -> counts, client operations, faults; sightings of publications.
2. `judging`, by publication: sightings -> journeys, verdicts of the oracle; what became of each publication.
3. `ordering`, by publisher: the tables `notifications` and `expected`, counts of defects, examples; delays.
4. `delays`, by what notifications are seen together: percentiles.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Protocol, Self, TypeVar

from analysis.delays import DelayTables, DelayTally, measure_delays
from analysis.engines.interface import Exchange, Workers
from analysis.errors import RunDirectoryError
from analysis.fault_counts import VariantFaults
from analysis.fault_tables import FaultTables
from analysis.faults import FaultTimes, fault_spans
from analysis.judging import Judging, JudgingTally
from analysis.lifetimes import Lifetime, lifetimes
from analysis.logs import divide
from analysis.oracle import SETTLE, History, cut_short
from analysis.ordering import Ordering, OrderingTally, VariantOrder
from analysis.outages import FOREVER, losing, stretches
from analysis.partitions import parts_directory, publish_parts
from analysis.phases import SECOND, run_start
from analysis.progress import Progress, counted
from analysis.reading import Outage, Reading, ReadTally
from analysis.run_directory import RunDirectory, Variant
from analysis.tables import Expectation, Notification
from analysis.traffic import TrafficTables

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
    reads = workers.run(shares, _reading(run, buckets), buckets)
    read = _merged(reads.tallies(counted("reading logs", tell)), ReadTally())
    if not read.records:
        raise RunDirectoryError(f"{run.logs}: no log holds a single record that can be read")
    lives = lifetimes(read.declared)
    tell(f"judging deliveries, from {read.records:,} records")
    faults = [_faults(number, one, read.outages, run.brokers) for number, one in enumerate(run.manifest.variants)]
    judged = reads.then(Judging(_histories(run, lives, read.outages), faults, buckets), buckets)
    judging = _merged(judged.tallies(counted("judging deliveries", tell)), JudgingTally())
    tell("writing notifications")
    against = tuple(
        VariantOrder(
            name=one.name,
            run_start=run_start(one),
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
    )


def _reading(run: RunDirectory, buckets: int) -> Reading:
    variants = run.manifest.variants
    return Reading(
        variants={variant.name: number for number, variant in enumerate(variants)},
        run_starts=tuple(map(run_start, variants)),
        stops=tuple(FOREVER if variant.stop is None else variant.stop for variant in variants),
        brokers=frozenset(run.brokers),
        buckets=buckets,
        dilations=run.dilations,
    )


def _histories(run: RunDirectory, lives: Iterable[Lifetime], outages: Iterable[Outage]) -> list[History]:
    brokers = frozenset(run.brokers)
    return [_history(number, variant, lives, outages, brokers) for number, variant in enumerate(run.manifest.variants)]


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


def _faults(number: int, variant: Variant, outages: Iterable[Outage], brokers: Collection[str]) -> FaultTimes:
    """What was injected into a variant before all was taken down."""
    faults = [one for one in outages if one.variant == number and not one.node and one.at.time < _end(variant)]
    return FaultTimes(fault_spans(faults, _lingering(variant), brokers))


def _merged(tallies: Iterable[_Tally], total: _Tally) -> _Tally:
    for tally in tallies:
        total.merge(tally)
    return total


def _history(
    number: int, variant: Variant, lives: Iterable[Lifetime], outages: Iterable[Outage], brokers: frozenset[str]
) -> History:
    """What the oracle knows of a variant."""
    lingering = _lingering(variant)
    mine = [outage for outage in outages if outage.variant == number and outage.at.time < _end(variant)]
    faults = [outage for outage in mine if not outage.node]
    sessions: dict[tuple[str, str | None], list[Outage]] = {}
    for outage in mine:
        if outage.node:
            sessions.setdefault((outage.node, outage.what), []).append(outage)
    return History(
        lifetimes=[life for life in lives if life.variant == number],
        run_start=run_start(variant),
        cut_short=cut_short(variant.end, variant.interrupted),
        outages=losing(faults, lingering, brokers),
        unsettled=stretches(faults, lingering, brokers),
        session_outages={session: stretches(found, lingering) for session, found in sessions.items()},
    )


def _lingering(variant: Variant) -> int:
    """How long after its heal a fault may still be felt."""
    return round(variant.recovery * SECOND) + SETTLE


def _end(variant: Variant) -> int:
    """From then on all is taken down, sessions first."""
    return FOREVER if variant.end is None else variant.end
