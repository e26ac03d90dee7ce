"""What the later stages are told of each variant: its clock and its brokers, what clients did, what befell it."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from analysis.judging.faults import FaultTimes, fault_spans
from analysis.judging.oracle import SETTLE, History, cut_short
from analysis.reading.lifetimes import Lifetime
from analysis.reading.outages import FOREVER, losing, silencing, stretches
from analysis.reading.reading import Outage, Reading
from analysis.run_files.phases import SECOND, run_start
from analysis.run_files.run_directory import RunDirectory, Variant


def reading_of(run: RunDirectory, buckets: int) -> Reading:
    """The first stage."""
    variants = run.manifest.variants
    return Reading(
        variants={variant.name: number for number, variant in enumerate(variants)},
        run_starts=tuple(map(run_start, variants)),
        stops=tuple(FOREVER if variant.stop is None else variant.stop for variant in variants),
        brokers=frozenset(run.brokers),
        buckets=buckets,
        dilations=run.dilations,
        clocks=run.clocks,
    )


def histories_of(run: RunDirectory, lives: Iterable[Lifetime], outages: Iterable[Outage]) -> list[History]:
    """What the oracle knows, by variant."""
    brokers = frozenset(run.brokers)
    return [_history(number, variant, lives, outages, brokers) for number, variant in enumerate(run.manifest.variants)]


def faults_of(number: int, variant: Variant, outages: Iterable[Outage], brokers: Collection[str]) -> FaultTimes:
    """What was injected into a variant before all was taken down."""
    faults = [one for one in outages if one.variant == number and not one.node and one.at.time < _end(variant)]
    return FaultTimes(fault_spans(faults, _lingering(variant), brokers))


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
        silent=silencing(faults, lingering, brokers),
        unsettled=stretches(faults, lingering, brokers),
        session_outages={session: stretches(found, lingering) for session, found in sessions.items()},
    )


def _lingering(variant: Variant) -> int:
    """How long after its heal a fault may still be felt."""
    return round(variant.recovery * SECOND) + SETTLE


def _end(variant: Variant) -> int:
    """From then on all is taken down, sessions first."""
    return FOREVER if variant.end is None else variant.end
