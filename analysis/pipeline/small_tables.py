"""The tables that are one file each, written from the findings of the stages."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

import msgspec

from analysis.judging.detections.counts import delay_classes
from analysis.judging.journeys.network_usage import rows_of_usage
from analysis.judging.journeys.route_lengths import lengths
from analysis.judging.journeys.spread import rows_of_spread
from analysis.pipeline.stages import Findings
from analysis.run_files.run_directory import RunDirectory
from analysis.tables.broker_work import BrokerLoad, MatchingLoad, RouterWork
from analysis.tables.budget import Budget, BudgetAtNode, BudgetOverTime
from analysis.tables.buffers import BufferSize
from analysis.tables.delays import DelayByHops, DelayDistribution, DelayOverTime
from analysis.tables.deliveries import DeliveryByReceivers, DeliveryOverTime
from analysis.tables.detections import DetectionDelays
from analysis.tables.motion import Connectivity, DegreeOverTime, LinkLifetime, Spread
from analysis.tables.placements import Placement
from analysis.tables.results import remove_table, write_table
from analysis.tables.starts import Start
from analysis.tables.timeline import Fault, PhaseTimes
from analysis.tables.traffic import (
    BrokerMessages,
    Drop,
    LabelledMessages,
    LinkLoad,
    NetworkUsage,
    QueueLength,
    RouteLength,
)
from record.manifest import VariantRecord
from record.time_units import SECOND

_Row = TypeVar("_Row", bound=msgspec.Struct)


def write_small_tables(run: RunDirectory, findings: Findings) -> None:
    """Writes every table but the partitioned ones, which the workers of stage 3 write."""
    judgement, traffic, delays, results = findings.judgement, findings.traffic, findings.delays, run.results
    write_table(traffic.messages(), results, BrokerMessages)
    write_table(traffic.labels(), results, LabelledMessages)
    write_table(traffic.loads(), results, BrokerLoad)
    write_table(traffic.links(), results, LinkLoad)
    write_table(traffic.matching(), results, MatchingLoad)
    write_table(findings.work.by_broker(), results, RouterWork)
    write_table(traffic.drops(run.brokers), results, Drop)
    logged = all(variant.brokers_log for variant in run.manifest.variants)
    write_table(findings.faults.faults(), results, Fault, present=("noticed", "dropped") if logged else ())
    write_table(traffic.queues(), results, QueueLength)
    write_table(judgement.publishers.due.over_time(run.manifest.variants), results, DeliveryOverTime)
    write_table(delays.over_time(), results, DelayOverTime)
    write_table(delays.distribution(), results, DelayDistribution)
    write_table(delays.by_hops(), results, DelayByHops)
    write_table(findings.budget.by_delay(), results, Budget)
    write_table(findings.budget.over_time(), results, BudgetOverTime)
    write_table(findings.budget.at_nodes(), results, BudgetAtNode)
    write_table(_phases(run.manifest.variants), results, PhaseTimes)
    _write_if_any(judgement.publishers.due.by_receivers(traffic.variants), results, DeliveryByReceivers)
    _write_if_any(lengths(judgement.publications.routes, traffic.variants, traffic.scales), results, RouteLength)
    _write_if_any(rows_of_usage(judgement.publications.usage, traffic.variants, traffic.scales), results, NetworkUsage)
    _write_if_any(traffic.buffers(), results, BufferSize)
    _write_if_any((row for starts in judgement.starts for row in starts), results, Start)
    if any(counts.expected or counts.delivered or counts.forgone for counts in judgement.detections.counts):
        of_each = ((name, judgement.detections.delays_of(number)) for number, name in enumerate(traffic.variants))
        write_table((row for found in of_each for row in delay_classes(*found)), results, DetectionDelays)
    else:
        remove_table(results, DetectionDelays)
    if findings.placements.join_points:
        write_table(findings.placements.placements(), results, Placement)
    else:
        remove_table(results, Placement)
    changing = [changes for changes in findings.changes if changes is not None]
    write_table((row for changes in changing for row in changes.lifetimes()), results, LinkLifetime)
    write_table((row for changes in changing for row in changes.connectivity()), results, Connectivity)
    write_table((row for changes in changing for row in changes.degrees()), results, DegreeOverTime)
    if changing:
        numbers = [number for number, changes in enumerate(findings.changes) if changes is not None]
        write_table(rows_of_spread(judgement.publications.spread, run.manifest.variants, numbers), results, Spread)
    else:
        remove_table(results, Spread)


def _write_if_any(rows: Iterable[_Row], results: Path, row: type[_Row]) -> None:
    """Writes a table that only some runs have; without rows, removes the one that an earlier analysis wrote."""
    if found := list(rows):
        write_table(found, results, row)
    else:
        remove_table(results, row)


def _phases(variants: Iterable[VariantRecord]) -> list[PhaseTimes]:
    return [
        PhaseTimes(
            variant=variant.name,
            phase=phase.name,
            start_ns=phase.start,
            end_ns=phase.end,
            start_s=_offset(phase.start, variant),
            end_s=_offset(phase.end, variant),
        )
        for variant in variants
        for phase in variant.phases
    ]


def _offset(time: int, variant: VariantRecord) -> float:
    return (time - (variant.run_start or time)) / SECOND
