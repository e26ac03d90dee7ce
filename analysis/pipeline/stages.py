"""The stages of the analysis, one after another, on whichever engine runs them. Each is a function from table to table.

1. `reading.log_stage`, by share of the logs: log files -> counts, client operations, faults; events of publications.
2. `judging.publication_stage`, by publication: events -> journeys, verdicts of the oracle, outcomes;
   `auditing.hops.stage`, by receiving broker: messages at links' ends -> readings of links and of brokers' work.
3. `judging.publisher_stage`, by publisher: the tables `notifications` and `expected`, counts of defects, examples;
   `judging.detections.stage`, by composite subscription: the same of detections, where there are any.
4. `judging.delay_stage`, by group of notifications: percentiles of delays;
   `budget.stage`, by publication: ways of notifications and passages over links -> the parts of delays.
5. `budget.replay.stage`, by variant: messages without contention -> delays without contention, where there is any;
   `auditing.backlogs`, of the same variants: turns -> the backlog that contention made.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from analysis.auditing.backlogs import BacklogStage, BacklogTally
from analysis.auditing.hops.readings import HopTally
from analysis.auditing.hops.stage import HopStage
from analysis.auditing.request import asked_of
from analysis.auditing.way_sums import WaySumStage, WayTally
from analysis.budget.passages import PassageStage
from analysis.budget.replay.stage import ReplayStage, ReplayTally
from analysis.budget.request import budgeted
from analysis.budget.stage import BudgetStage
from analysis.budget.tables import BudgetTables
from analysis.budget.tally import BudgetTally
from analysis.engines.frames import Done, Frame, Grouping, Workers
from analysis.judging.delay_stage import MEASURED, DelayTables, DelayTally, measure_delays
from analysis.judging.deliveries.operations import OperationDefect, operation_defects
from analysis.judging.deliveries.starts import starts_of
from analysis.judging.detections.counts import DetectionTally
from analysis.judging.detections.events import CompositeName
from analysis.judging.detections.placements import PlacementTables
from analysis.judging.detections.stage import DETECTIONS_JUDGED, ROUNDING, DetectionStage, Lifetimes, lifetimes_of
from analysis.judging.evidence.backlog import Backlogs, Explanations, backlogs_of, silences_of
from analysis.judging.evidence.departures import Departures, departures_of
from analysis.judging.evidence.excuses import Evidence
from analysis.judging.evidence.exits import closed_links
from analysis.judging.evidence.lost_ranges import LostRanges
from analysis.judging.evidence.paces import Paces
from analysis.judging.evidence.ways import Ways, taken_in
from analysis.judging.fault_effects.tables import FaultTables
from analysis.judging.histories.assembly import faults_of, histories_of, log_stage_of, session_breaks
from analysis.judging.histories.faults import FaultTimes
from analysis.judging.histories.history import History
from analysis.judging.histories.settling import Settling
from analysis.judging.journeys.network import networks_of
from analysis.judging.journeys.router_work import WorkTables
from analysis.judging.publication_stage import JUDGED, PublicationStage, PublicationTally
from analysis.judging.publisher_stage import DELIVERED, PublisherStage, PublisherTally
from analysis.judging.variant_context import VariantContext, VariantFaults
from analysis.pipeline.link_stage import HOPS_READ, LinkStage
from analysis.pipeline.progress import Progress, counted
from analysis.pipeline.variant_stage import VARIANTS_READ, VariantStage
from analysis.pipeline.way_stage import WAYS_READ, WayStage
from analysis.reading.lifetimes import DeclarationLifetime, RejectedOperation, lifetimes, rejections
from analysis.reading.log_stage import READ, Share
from analysis.reading.log_tally import LogTally
from analysis.reading.overlay_changes import OverlayChanges, changes_of
from analysis.reading.placements import join_points
from analysis.reading.traffic import TrafficTables
from analysis.run_files.blocks import blocks_of
from analysis.run_files.folders import Folder
from analysis.run_files.logs import divide
from analysis.run_files.run_directory import RunDirectory
from analysis.tables.deliveries import Expectation, Notification
from analysis.tables.detections import Detection, ExpectedDetection
from analysis.tables.event_choice import EventTable
from analysis.tables.events import EVENTS
from analysis.tables.partitions import parts_folder, publish_events, publish_parts
from analysis.tables.results import table_file
from analysis.tables.rows import table_of
from analysis.tables.starts import Start
from analysis.tables.totals import Tally
from record.errors import RunDirectoryError
from record.files import LOGS, RESULTS, SUMMARY
from record.log import Event

LARGEST_SHARE = 16 << 20
"""Bytes of logs that one task reads; about 100,000 records."""
SMALLEST_SHARE = 4 << 20
"""Bytes of logs for which a task of their own pays."""
BUCKET_BYTES = 16 << 20
"""Bytes of logs for each bucket of publications. A worker holds one bucket at a time, as objects of about seven times
as many bytes."""


@dataclass(frozen=True)
class Findings:
    """The results of all stages."""

    logs: LogTally
    hops: HopTally
    lifetimes: Sequence[Sequence[DeclarationLifetime]]
    """Lifetimes of declarations, for each variant."""
    publications: PublicationTally
    publishers: PublisherTally
    detections: DetectionTally
    traffic: TrafficTables
    delays: DelayTables
    budget: BudgetTables
    replay: ReplayTally
    ways: WayTally
    backlogs: BacklogTally
    faults: FaultTables
    work: WorkTables
    changes: list[OverlayChanges | None]
    """Changes of each variant's overlay; None where it stayed as it was."""
    placements: PlacementTables
    starts: list[list[Start]]
    """Announced starts, for each variant."""
    operations: list[list[OperationDefect]]
    """Defects of operations, for each variant."""
    settling: list[Settling]
    """Times in which operations settle, for each variant."""


@dataclass(frozen=True)
class _Context:
    """The facts that deliveries are judged against."""

    variants: tuple[VariantContext, ...]
    buckets: int
    """Number of buckets of publishers."""
    lifetimes: Mapping[CompositeName, Lifetimes]
    composite_buckets: int
    """0 in a run without composite subscriptions."""


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


@dataclass(frozen=True, slots=True)
class Parts:
    """The place where workers write parts of tables, until all stages are done."""

    folder: Folder
    events: EventTable

    @property
    def of_events(self) -> Folder | None:
        """The folder for parts of the table `events`; None where that is not wanted."""
        return self.folder if self.events is EventTable.ALL else None


def run_stages(run: RunDirectory, workers: Workers, progress: Progress, events: EventTable) -> Findings:
    """Runs the stages. Writes the tables that are directories: notifications, expected, events, those of detections."""
    with parts_folder(run.folder.below(RESULTS)) as folder:
        return _run_stages(run, workers, progress, Parts(folder, events))


def _run_stages(run: RunDirectory, workers: Workers, progress: Progress, parts: Parts) -> Findings:
    log_bytes = sum(file.size for file in run.log_files)
    least = min(2 * workers.parallelism - 1, log_bytes // SMALLEST_SHARE)  # two rounds of tasks, none of a tiny one
    buckets = max(least, log_bytes // BUCKET_BYTES, 1)
    share = min(max(log_bytes // (2 * workers.parallelism), SMALLEST_SHARE), LARGEST_SHARE)
    progress("reading logs")
    shares = [Share(number, list(pieces)) for number, pieces in enumerate(divide(run.log_files, share))]
    read = workers.mapped(table_of(shares, Share), log_stage_of(run, buckets, parts.of_events), READ).kept()
    logs = _total(read, LogTally(), counted("reading logs", progress))
    if not logs.records:
        raise RunDirectoryError(
            f"{run.path / LOGS}: no log holds a single record that can be read; run the scenario again"
        )
    found = _histories(run, logs)
    composite_buckets = _composite_buckets(buckets, found.declared, logs)
    progress(f"judging deliveries, from {logs.records:,} records")
    asked = [asked_of(run, number, logs) for number in range(len(run.manifest.variants))]
    nodes = (*run.brokers, *sorted({started.node for started in logs.started} - set(run.brokers)))
    by_publication = _second(run, found, buckets, composite_buckets, nodes)
    judged = read.field("events").grouped(Grouping("bucket", buckets), by_publication, JUDGED).kept()
    publications = _total(judged, PublicationTally(), counted("judging deliveries", progress))
    budgets = [budgeted(run.manifest, number, of_variant) for number, of_variant in enumerate(asked)]
    by_link = LinkStage(HopStage(asked, nodes), PassageStage(budgets, nodes, buckets))
    hops_read = read.field("hops").grouped(Grouping("bucket", buckets), by_link, HOPS_READ).kept()
    hops = _total(hops_read, HopTally(), counted("reading links", progress))
    progress("writing notifications")
    joined = join_points(logs.placements)
    rounding = [0 if variant.time_dilation == 1 else ROUNDING for variant in run.manifest.variants]
    contexts = _contexts(run, found, publications, logs)
    evidence = [context.evidence for context in contexts]
    composed = lifetimes_of(found.histories, publications.parts_matched, rounding, joined, evidence)
    context = _Context(contexts, buckets, composed, composite_buckets)
    delivered = _third(judged, context, parts).kept()
    publishers = _total(delivered, PublisherTally(), counted("writing notifications", progress))
    detections = _detections(judged, context, parts, progress)
    measured = delivered.field("delays").grouped(Grouping("bucket", buckets), measure_delays, MEASURED)
    delays = _total(measured, DelayTally(), counted("measuring delays", progress))
    ways = judged.field("notified_ways").with_rows_of(hops_read.field("passages"))
    by_way = WayStage(BudgetStage(budgets, nodes), WaySumStage(asked, nodes))
    cut = ways.grouped(Grouping("bucket", buckets), by_way, WAYS_READ).kept()
    budget = _total(cut, BudgetTally(), counted("measuring delays", progress))
    replay, backlogs = _by_variant(
        hops_read, cut, VariantStage(ReplayStage(budgets, nodes), BacklogStage(asked, nodes)), progress
    )
    way_sums = _total(cut, WayTally(), counted("measuring delays", progress))
    _publish(run, context, parts, sum(counts.delivered for counts in publishers.counts))
    names = tuple(variant.name for variant in run.manifest.variants)
    return Findings(
        logs=logs,
        hops=hops,
        lifetimes=found.declared,
        publications=publications,
        publishers=publishers,
        detections=detections,
        traffic=_traffic(run, logs, publications),
        delays=DelayTables(delays, names),
        budget=BudgetTables(budget, budgets, names),
        replay=replay,
        ways=way_sums,
        backlogs=backlogs,
        faults=FaultTables(context.variants, publications.baselines, publishers.faults, logs.neighbours),
        work=WorkTables(publications.work, names),
        changes=found.changes,
        placements=PlacementTables(joined, logs.detected, run.manifest.variants),
        starts=[
            starts_of(variant, history, run.overlays[variant.name])
            for variant, history in zip(run.manifest.variants, found.histories, strict=True)
        ],
        operations=[
            operation_defects(variant, history, rejected, logs.own_declarations.by_key)
            for variant, history, rejected in zip(run.manifest.variants, found.histories, found.rejected, strict=True)
        ],
        settling=[history.settling for history in found.histories],
    )


def _by_variant(
    hops_read: Frame, cut: Frame, stage: VariantStage, progress: Progress
) -> tuple[ReplayTally, BacklogTally]:
    """Stage 5; nothing where no variant is replayed."""
    variants = stage.replay.variants
    replay, backlogs = ReplayTally(), BacklogTally()
    if any(variant.replayed for variant in variants):
        rows = hops_read.field("of_variants").with_rows_of(cut.field("of_variants"))
        read = rows.grouped(Grouping("variant", len(variants)), stage, VARIANTS_READ).kept()
        replay = _total(read, replay, counted("replaying without contention", progress))
        backlogs = _total(read, backlogs, counted("replaying without contention", progress))
    return replay, backlogs


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
    run: RunDirectory, found: _Histories, buckets: int, composite_buckets: int, nodes: Sequence[str]
) -> PublicationStage:
    """Stage 2."""
    variants = run.manifest.variants
    laid = {
        number: (run.underlays[variant.name], run.overlays[variant.name])
        for number, variant in enumerate(variants)
        if variant.name in run.underlays
    }
    samples = [variant.sample or None for variant in variants]
    changing = frozenset(number for number, changes in enumerate(found.changes) if changes is not None)
    return PublicationStage(
        found.histories,
        found.faults,
        samples,
        blocks_of(variants[0]),
        {number: end for number, variant in enumerate(variants) if (end := variant.end) and variant.undrained},
        buckets,
        max(composite_buckets, 1),
        changing,
        networks_of(laid),
        {name: number for number, name in enumerate(nodes)},
    )


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
        )
        for number, (variant, times, history) in enumerate(
            zip(run.manifest.variants, found.faults, found.histories, strict=True)
        )
    )


def _lost_ranges(number: int, history: History, logs: LogTally) -> LostRanges:
    told = [lost for lost in logs.lost_ranges if lost.variant == number] if history.promises.gives_up is True else []
    return LostRanges.of(told, history.cuts)


def _evidence(
    run: RunDirectory, number: int, history: History, publications: PublicationTally, logs: LogTally
) -> Evidence:
    """The facts by which losses in one variant are excused."""
    variant = run.manifest.variants[number]
    undrained = variant.end if variant.undrained else None
    if not history.losses and undrained is None:
        return Evidence((), Ways(history.overlay), Backlogs(), Departures(), history.settling, history.promises)
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
        undrained=undrained,
        oldest=publications.counts.of(number).oldest,
    )


def _traffic(run: RunDirectory, logs: LogTally, publications: PublicationTally) -> TrafficTables:
    variants = run.manifest.variants
    return TrafficTables(
        logs.traffic,
        tuple(variant.name for variant in variants),
        run_starts=[variant.run_start for variant in variants],
        scales=[publications.counts.of(number).scale for number in range(len(variants))],
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


def _third(judged: Frame, context: _Context, parts: Parts) -> Frame:
    """Stage 3, whose workers write parts of tables."""
    stage = PublisherStage(context.variants, parts.folder, context.buckets)
    return judged.field("publications").grouped(Grouping("bucket", context.buckets), stage, DELIVERED)


def _detections(judged: Frame, context: _Context, parts: Parts, progress: Progress) -> DetectionTally:
    """Stage 3 of detections, whose workers write parts of tables too."""
    if not context.composite_buckets:
        return DetectionTally()
    stage = DetectionStage(context.variants, context.lifetimes, parts.folder, context.composite_buckets)
    grouping = Grouping("bucket", context.composite_buckets)
    found = judged.field("composites").grouped(grouping, stage, DETECTIONS_JUDGED)
    return _total(found, DetectionTally(), counted("judging detections", progress))


def _publish(run: RunDirectory, context: _Context, parts: Parts, delivered: int) -> None:
    """Replaces the tables whose parts the workers wrote. The run has no summary meanwhile, so that nobody takes tables
    of two analyses for those of one."""
    names, results = [variant.name for variant in context.variants], run.folder.below(RESULTS)
    run.folder.remove(SUMMARY)
    written = publish_parts(parts.folder, Notification, results, names)
    publish_parts(parts.folder, Expectation, results, names)
    if context.composite_buckets:
        publish_parts(parts.folder, Detection, results, names)
        publish_parts(parts.folder, ExpectedDetection, results, names)
    else:
        results.remove(table_file(Detection))
        results.remove(table_file(ExpectedDetection))
    if parts.of_events is not None:
        publish_events(parts.folder, results, names)
    else:
        results.remove(EVENTS)
    if written != delivered:
        raise RunDirectoryError(f"{run.results}: parts of tables are missing: another analysis of the run removed them")


def _total(frame: Frame, tally: _Tally, done: Done) -> _Tally:
    """The tally to which all rows of a frame add up."""
    for table in frame.collected(tally.schema().names, done):
        tally.merge(table)
    return tally
