"""The stages that judge deliveries, on whichever engine runs them. Each is a function from table to table.

1. `reading.log_stage`, by share of the logs: log files -> counts, client operations, faults; events of publications.
2. `judging.publication_stage`, by publication: events -> journeys, verdicts of the oracle, outcomes.
3. `judging.publisher_stage`, by publisher: the tables `notifications` and `expected`, counts of defects, examples;
   `judging.detections.stage`, by composite subscription: the same of detections, where there are any.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from msgspec import UNSET

from analysis.engines.frames import Done, Frame, Grouping, Workers
from analysis.judging.deliveries.operations import OperationDefect, operation_defects
from analysis.judging.deliveries.starts import starts_of
from analysis.judging.detections.counts import DetectionTally
from analysis.judging.detections.events import CompositeName
from analysis.judging.detections.stage import DETECTIONS_JUDGED, ROUNDING, DetectionStage, Lifetimes, lifetimes_of
from analysis.judging.evidence.backlog import Backlogs, Explanations, backlogs_of, silences_of
from analysis.judging.evidence.departures import Departures, departures_of
from analysis.judging.evidence.excuses import NOT_SAMPLED, Evidence
from analysis.judging.evidence.exits import closed_links
from analysis.judging.evidence.lost_ranges import LostRanges
from analysis.judging.evidence.paces import Paces
from analysis.judging.evidence.ways import Ways, taken_in
from analysis.judging.histories.assembly import faults_of, histories_of, log_stage_of, session_breaks
from analysis.judging.histories.faults import FaultTimes
from analysis.judging.histories.history import History
from analysis.judging.histories.moved_sessions import client_of
from analysis.judging.histories.settling import Settling
from analysis.judging.histories.starting import BrokerStart
from analysis.judging.journeys.network import networks_of
from analysis.judging.journeys.notified_ways import NumberedSites, Sites
from analysis.judging.publication_figures import WantedFigures
from analysis.judging.publication_stage import JUDGED, PublicationStage
from analysis.judging.publication_tally import PublicationTally
from analysis.judging.publisher_stage import DELIVERED, PublisherStage, PublisherTally
from analysis.judging.variant_context import VariantContext, VariantFaults
from analysis.pipeline.progress import Progress, counted
from analysis.reading.intervals import Intervals
from analysis.reading.lifetimes import DeclarationLifetime, RejectedOperation, lifetimes, rejections
from analysis.reading.log_events import NumberedNotification
from analysis.reading.log_stage import READ, Share
from analysis.reading.log_tally import LogTally
from analysis.reading.overlay_changes import OverlayChanges, changes_of
from analysis.reading.placements import JoinPoint, join_points
from analysis.reading.stays import NO_STAYS, Stays, sites_ever, stays_of_run
from analysis.run_files.blocks import blocks_of
from analysis.run_files.folders import Folder
from analysis.run_files.logs import divide
from analysis.run_files.run_directory import RunDirectory
from analysis.tables.rows import table_of
from analysis.tables.starts import Start
from analysis.tables.totals import Tally
from record.errors import RunDirectoryError
from record.files import LOGS
from record.log import Event
from record.wording import count_of

LARGEST_SHARE = 16 << 20
"""Bytes of logs that one task reads; about 100,000 records."""
SMALLEST_SHARE = 4 << 20
"""Bytes of logs for which a task of their own pays."""
BUCKET_BYTES = 16 << 20
"""Bytes of logs for each bucket of publications. A worker holds one bucket at a time, as objects of about seven times
as many bytes."""


@dataclass(frozen=True)
class Judgement:
    """The results of the stages."""

    logs: LogTally
    lifetimes: Sequence[Sequence[DeclarationLifetime]]
    """Lifetimes of declarations, for each variant."""
    publications: PublicationTally
    publishers: PublisherTally
    detections: DetectionTally
    starts: list[list[Start]]
    """Announced starts, for each variant."""
    operations: list[list[OperationDefect]]
    """Defects of operations, for each variant."""
    settling: list[Settling]
    """Times in which operations settle, for each variant."""
    restarted: list[Sequence[BrokerStart]]
    """Starts of restarted brokers, for each variant."""
    full_sessions: list[Mapping[str, Intervals]]
    """Times in which slow readers' sessions were full, by broker, for each variant."""
    stays: list[Stays]
    """The stays of clients that move, for each variant."""


@dataclass(frozen=True)
class Context:
    """The facts that deliveries are judged against."""

    variants: tuple[VariantContext, ...]
    changes: list[OverlayChanges | None]
    """Changes of each variant's overlay; None where it stayed as it was."""
    nodes: tuple[str, ...]
    """Brokers and drivers, by their numbers in the ways of notifications."""
    buckets: int
    """Number of buckets of publishers."""
    lifetimes: Mapping[CompositeName, Lifetimes]
    joined: Sequence[JoinPoint]
    composite_buckets: int
    """0 in a run without composite subscriptions."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The places where workers write parts of tables, until all stages are done."""

    deliveries: Folder | None = None
    """The folder for parts of the tables of notifications and detections; None where these are not wanted."""
    events: Folder | None = None
    """The folder for parts of the table `events`; None where that is not wanted."""


NO_TABLES = Parts()


@dataclass(frozen=True)
class Judged:
    """The results, and the frames that they were made of, which further stages read."""

    judgement: Judgement
    context: Context
    read: Frame
    """Results of stage 1."""
    judged: Frame
    """Results of stage 2."""
    delivered: Frame
    """Results of stage 3."""


_Tally = TypeVar("_Tally", bound=Tally)


@dataclass(frozen=True)
class _Histories:
    """The facts about each variant that stage 1 yields, and by which stage 2 judges."""

    declared: Sequence[Sequence[DeclarationLifetime]]
    """Lifetimes of declarations, for each variant."""
    rejected: Sequence[Sequence[RejectedOperation]]
    """Rejected operations, for each variant."""
    faults: list[FaultTimes]
    changes: list[OverlayChanges | None]
    histories: Sequence[History]


def judge(run: RunDirectory, workers: Workers, progress: Progress, parts: Parts) -> Judged:
    """Runs the stages. Workers write the parts of tables that are wanted. Raises `RunDirectoryError`."""
    log_bytes = sum(file.size for file in run.log_files)
    least = min(2 * workers.parallelism - 1, log_bytes // SMALLEST_SHARE)  # two rounds of tasks, none of a tiny one
    buckets = max(least, log_bytes // BUCKET_BYTES, 1)
    share = min(max(log_bytes // (2 * workers.parallelism), SMALLEST_SHARE), LARGEST_SHARE)
    progress("reading logs")
    shares = [Share(number, list(pieces)) for number, pieces in enumerate(divide(run.log_files, share))]
    # Only figures are made of messages at links' ends, and without tables nobody looks at figures.
    stage = log_stage_of(run, buckets, buckets if parts.deliveries else 0, parts.events)
    read = workers.mapped(table_of(shares, Share), stage, READ).kept()
    logs = total(read, LogTally(), counted("reading logs", progress))
    if not logs.records:
        raise RunDirectoryError(
            f"{run.path / LOGS}: no log holds a single record that can be read; run the scenario again"
        )
    found = _histories(run, logs)
    composite_buckets = _composite_buckets(buckets, found.declared, logs)
    progress(f"judging deliveries, from {count_of(logs.records, 'record')}")
    nodes = (*run.brokers, *sorted({started.node for started in logs.started} - set(run.brokers)))
    figures = None if parts.deliveries is None else _figures(run, found, nodes)
    by_publication = _second(run, found, buckets, composite_buckets, figures)
    judged = read.field("events").grouped(Grouping("bucket", buckets), by_publication, JUDGED).kept()
    publications = total(judged, PublicationTally(), counted("judging deliveries", progress))
    progress("writing notifications")
    contexts = _contexts(run, found, publications, logs)
    joined = join_points(logs.placements)
    composed = lifetimes_of(
        found.histories,
        publications.parts_matched,
        [0 if variant.time_dilation == 1 else ROUNDING for variant in run.manifest.variants],
        joined,
        [context.evidence for context in contexts],
    )
    operations = [
        operation_defects(*facts, logs.own_declarations.by_key, _numbered(number, logs))
        for number, facts in enumerate(zip(run.manifest.variants, found.histories, found.rejected, strict=True))
    ]
    logs.own_declarations.by_key.clear()  # there is one for each subscription, and nobody reads them any more
    context = Context(contexts, found.changes, nodes, buckets, composed, joined, composite_buckets)
    delivered = _third(judged, context, parts).kept()
    publishers = total(delivered, PublisherTally(), counted("writing notifications", progress))
    judgement = Judgement(
        logs=logs,
        lifetimes=found.declared,
        publications=publications,
        publishers=publishers,
        detections=_detections(judged, context, parts, progress),
        starts=[
            starts_of(variant, history, run.overlays[variant.name])
            for variant, history in zip(run.manifest.variants, found.histories, strict=True)
        ],
        operations=operations,
        settling=[history.settling for history in found.histories],
        restarted=[history.starts for history in found.histories],
        full_sessions=[history.unread.full for history in found.histories],
        stays=[history.stays for history in found.histories],
    )
    return Judged(judgement, context, read, judged, delivered)


def _histories(run: RunDirectory, logs: LogTally) -> _Histories:
    variants = run.manifest.variants
    # Operations are given up for lifetimes, variant by variant, because both together are most of the memory.
    declared, rejected = [], []
    for number in range(len(variants)):
        operations = logs.operations.pop(number)
        declared.append(lifetimes(operations))
        rejected.append(rejections(operations))
    changes = changes_of(variants, [run.overlays[variant.name] for variant in variants], logs.changes)
    return _Histories(
        declared=declared,
        rejected=rejected,
        faults=[faults_of(number, variant, logs.outages, run.brokers) for number, variant in enumerate(variants)],
        changes=changes,
        histories=histories_of(run, declared, logs, changes),
    )


def _second(
    run: RunDirectory, found: _Histories, buckets: int, composite_buckets: int, figures: WantedFigures | None
) -> PublicationStage:
    """Stage 2."""
    variants = run.manifest.variants
    return PublicationStage(
        found.histories,
        [variant.logged for variant in variants],
        {number: end for number, variant in enumerate(variants) if (end := variant.end) and variant.undrained},
        buckets,
        max(composite_buckets, 1),
        figures,
    )


def _figures(run: RunDirectory, found: _Histories, nodes: Sequence[str]) -> WantedFigures:
    """The figures of stage 2."""
    variants = run.manifest.variants
    laid = {
        number: (run.underlays[variant.name], run.overlays[variant.name])
        for number, variant in enumerate(variants)
        if variant.name in run.underlays
    }
    changing = frozenset(number for number, changes in enumerate(found.changes) if changes is not None)
    return WantedFigures(
        found.faults,
        blocks_of(variants[0]),
        changing,
        networks_of(laid),
        {name: number for number, name in enumerate(nodes)},
        _numbered_sites(run),
    )


def _numbered_sites(run: RunDirectory) -> Sites:
    numbers, stays = {variant.name: number for number, variant in enumerate(run.manifest.variants)}, stays_of_run(run)
    found = {}
    for variant, first in run.sites.items():
        of_site = {(site.name, site.broker): number for number, site in enumerate(sites_ever(run, variant))}
        found[numbers[variant]] = NumberedSites(
            {client: number for number, site in enumerate(first) for client in site.clients},
            {
                (client, stay.broker): of_site[stay.site.name, stay.broker]
                for client, of_client in stays.get(variant, NO_STAYS).of_client.items()
                for stay in of_client
            },
        )
    return found


def _contexts(
    run: RunDirectory, found: _Histories, publications: PublicationTally, logs: LogTally
) -> tuple[VariantContext, ...]:
    return tuple(
        VariantContext(
            name=variant.name,
            run_start=variant.run_start,
            promises=variant.promises,
            faults=VariantFaults(times, publications.baselines.late_from(number, times)),
            session_breaks=session_breaks(history),
            lost_ranges=_lost_ranges(number, history, logs),
            evidence=_evidence(run, number, history, publications, logs),
            brokers_log=variant.brokers_log,
        )
        for number, (variant, times, history) in enumerate(
            zip(run.manifest.variants, found.faults, found.histories, strict=True)
        )
    )


def _lost_ranges(number: int, history: History, logs: LogTally) -> LostRanges:
    told = [lost for lost in logs.lost_ranges if lost.variant == number] if history.promises.gives_up is True else []
    return LostRanges.of(told, history.cuts)


def _numbered(number: int, logs: LogTally) -> Iterator[NumberedNotification]:
    return (found for found in logs.numbered if found.variant == number)


def _unprocessed(number: int, logs: LogTally) -> frozenset[tuple[str, str]]:
    """The clients and publications of the notifications that client programs got and did not acknowledge."""
    numbered = _numbered(number, logs)
    return frozenset((found.client, found.publication) for found in numbered if found.event is Event.UNPROCESSED)


def _evidence(
    run: RunDirectory, number: int, history: History, publications: PublicationTally, logs: LogTally
) -> Evidence:
    """The facts by which losses in one variant are excused."""
    variant = run.manifest.variants[number]
    undrained = variant.end if variant.undrained else None
    unlogged = NOT_SAMPLED if variant.foreign is UNSET else variant.foreign.reason
    if not history.losses and undrained is None:
        nothing = Backlogs(), Departures()
        ways = Ways(history.overlay)
        return Evidence(
            (), ways, *nothing, history.settling, history.promises, unlogged=unlogged, unread=history.unread,
            unprocessed=_unprocessed(number, logs), cuts_at_end=history.cuts_at_end,
        )  # fmt: skip
    sent = (found for found in logs.traffic.amounts if found.activity.variant == number)
    return Evidence(
        losses=tuple(history.losses),
        ways=Ways(history.overlay, taken_in(number, publications.ways), history.overlay_changes),
        backlogs=backlogs_of(
            number,
            (logs.traffic.gauges, logs.services),
            variant.run_start or 0,
            Explanations(
                struck=history.struck,
                silences=silences_of(event for event in logs.outages if event.variant == number and not event.node),
                paces=Paces.of(variant, history.overlay, sent),
            ),
        ),
        departures=departures_of(number, publications.departures),
        settling=history.settling,
        promises=history.promises,
        closed=closed_links(change for change in logs.neighbours if change.variant == number),
        clients_struck={
            client: times for (node, _), times in history.client_outages.items() if (client := client_of(node))
        },
        undrained=undrained,
        oldest=publications.counts.of(number).oldest,
        behind_rates=frozenset(
            client for site in sites_ever(run, variant.name) if site.has_rate for client in site.clients
        ),
        unlogged=unlogged,
        unread=history.unread,
        unprocessed=_unprocessed(number, logs),
        cuts_at_end=history.cuts_at_end,
    )


def _composite_buckets(buckets: int, declared: Iterable[Iterable[DeclarationLifetime]], logs: LogTally) -> int:
    """The number of buckets of composite subscriptions: none where there are neither these nor detections."""
    composed = {
        (made.variant, made.client, made.name)
        for of_variant in declared
        for made in of_variant
        if made.made is Event.COMPOSE
    }
    return min(buckets, max(len(composed), logs.detections > 0))


def _third(judged: Frame, context: Context, parts: Parts) -> Frame:
    """Stage 3, whose workers write parts of tables."""
    stage = PublisherStage(context.variants, parts.deliveries, context.buckets)
    return judged.field("publications").grouped(Grouping("bucket", context.buckets), stage, DELIVERED)


def _detections(judged: Frame, context: Context, parts: Parts, progress: Progress) -> DetectionTally:
    """Stage 3 of detections, whose workers write parts of tables too."""
    if not context.composite_buckets:
        return DetectionTally()
    stage = DetectionStage(context.variants, context.lifetimes, parts.deliveries, context.composite_buckets)
    grouping = Grouping("bucket", context.composite_buckets)
    found = judged.field("composites").grouped(grouping, stage, DETECTIONS_JUDGED)
    return total(found, DetectionTally(), counted("judging detections", progress))


def total(frame: Frame, tally: _Tally, done: Done) -> _Tally:
    """The tally to which all rows of a frame add up."""
    for table in frame.collected(tally.schema().names, done):
        tally.merge(table)
    return tally
