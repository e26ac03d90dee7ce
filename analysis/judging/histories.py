"""What the later stages are told of each variant: its clock and its brokers, what clients did, what befell it."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from analysis.judging.fault_costs import lossy_intervals, silent_intervals
from analysis.judging.faults import FaultTimes, fault_spans
from analysis.judging.oracle import SETTLE, History, cut_short
from analysis.reading.intervals import FOREVER
from analysis.reading.lifetimes import Lifetime
from analysis.reading.outages import outage_intervals
from analysis.reading.reading import OutageEvent, Reading
from analysis.run_files.phases import SECOND
from analysis.run_files.run_directory import RunDirectory
from record.manifest import VariantRecord


def reading_of(run: RunDirectory, buckets: int) -> Reading:
    """The first stage."""
    variants = run.manifest.variants
    return Reading(
        variants={variant.name: number for number, variant in enumerate(variants)},
        run_starts=tuple(variant.run_start for variant in variants),
        stops=tuple(FOREVER if variant.stop is None else variant.stop for variant in variants),
        brokers=frozenset(run.brokers),
        buckets=buckets,
        dilations=run.dilations,
        clocks=run.clocks,
    )


def histories_of(run: RunDirectory, lives: Iterable[Lifetime], events: Iterable[OutageEvent]) -> list[History]:
    """What the oracle knows, by variant."""
    brokers = frozenset(run.brokers)
    return [_history(number, variant, lives, events, brokers) for number, variant in enumerate(run.manifest.variants)]


def faults_of(
    number: int, variant: VariantRecord, events: Iterable[OutageEvent], brokers: Collection[str]
) -> FaultTimes:
    """What was injected into a variant before all was taken down."""
    faults = [event for event in events if event.variant == number and not event.node and event.at.time < _end(variant)]
    return FaultTimes(fault_spans(faults, _lingering(variant), brokers))


def _history(
    number: int,
    variant: VariantRecord,
    lives: Iterable[Lifetime],
    events: Iterable[OutageEvent],
    brokers: frozenset[str],
) -> History:
    """What the oracle knows of a variant."""
    lingering = _lingering(variant)
    of_variant = [event for event in events if event.variant == number and event.at.time < _end(variant)]
    faults = [event for event in of_variant if not event.node]
    sessions: dict[tuple[str, str | None], list[OutageEvent]] = {}
    for event in of_variant:
        if event.node:
            sessions.setdefault((event.node, event.target), []).append(event)
    return History(
        lifetimes=[life for life in lives if life.variant == number],
        run_start=variant.run_start,
        cut_short=cut_short(variant.end, variant.interrupted),
        lossy=lossy_intervals(faults, lingering, brokers),
        silent=silent_intervals(faults, lingering, brokers),
        unsettled=outage_intervals(faults, lingering, brokers),
        session_outages={session: outage_intervals(found, lingering) for session, found in sessions.items()},
    )


def _lingering(variant: VariantRecord) -> int:
    """How long after its heal a fault may still be felt."""
    return round(variant.recovery * SECOND) + SETTLE


def _end(variant: VariantRecord) -> int:
    """From then on all is taken down, sessions first."""
    return FOREVER if variant.end is None else variant.end
