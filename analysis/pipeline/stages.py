"""The stages of the analysis, one after another, on whichever engine runs them. Each is a function from table to table.

1. to 3. judge deliveries (`pipeline.judgement`). Besides, in stage 2:
   `auditing.hops.stage`, by receiving broker: messages at links' ends -> readings of links and of brokers' work.
4. `judging.delay_stage`, by group of notifications: percentiles of delays;
   `budget.stage`, by publication: ways of notifications and passages over links -> the parts of delays. What is left
   of delays without access links of clients' sites, where there are any, becomes percentiles as delays do.
5. `budget.replay.stage`, by variant: messages without contention -> delays without contention, where there is any;
   `auditing.backlogs`, of the same variants: turns -> the backlog that contention made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.auditing.backlogs import BacklogStage, BacklogTally
from analysis.auditing.hops.asked import AskedVariant
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
from analysis.engines.frames import Frame, Grouping, Workers
from analysis.judging.delay_stage import MEASURED, DelayTables, DelayTally, measure_delays
from analysis.judging.detections.placements import PlacementTables
from analysis.judging.fault_effects.tables import FaultTables
from analysis.judging.journeys.router_work import WorkTables
from analysis.judging.publication_tally import PublicationTally
from analysis.pipeline.judgement import Judged, Judgement, Parts, judge, total
from analysis.pipeline.link_stage import HOPS_READ, LinkStage
from analysis.pipeline.progress import Progress, counted
from analysis.pipeline.variant_stage import VARIANTS_READ, VariantStage
from analysis.pipeline.way_stage import WAYS_READ, WayStage
from analysis.reading.log_tally import LogTally
from analysis.reading.overlay_changes import OverlayChanges
from analysis.reading.traffic import TrafficTables
from analysis.run_files.folders import Folder
from analysis.run_files.run_directory import RunDirectory
from analysis.tables.deliveries import Expectation, Notification
from analysis.tables.detections import Detection, ExpectedDetection
from analysis.tables.event_choice import EventTable
from analysis.tables.events import EVENTS
from analysis.tables.partitions import parts_folder, publish_events, publish_parts
from analysis.tables.results import table_file
from record.errors import RunDirectoryError
from record.files import RESULTS, SUMMARY


@dataclass(frozen=True)
class Findings:
    """The results of all stages."""

    judgement: Judgement
    hops: HopTally
    traffic: TrafficTables
    delays: DelayTables
    budget: BudgetTables
    without_access: DelayTables
    """Delays without the time on clients' access links, only of variants whose clients are on sites."""
    replay: ReplayTally
    ways: WayTally
    backlogs: BacklogTally
    faults: FaultTables
    work: WorkTables
    changes: list[OverlayChanges | None]
    """Changes of each variant's overlay; None where it stayed as it was."""
    placements: PlacementTables


def run_stages(run: RunDirectory, workers: Workers, progress: Progress, events: EventTable) -> Findings:
    """Runs the stages. Writes the tables that are directories: notifications, expected, events, those of detections."""
    with parts_folder(run.folder.below(RESULTS)) as folder:
        parts = Parts(folder, folder if events is EventTable.ALL else None)
        done = judge(run, workers, progress, parts)
        findings = _measured(run, done, progress)
        _publish(run, done, folder, parts)
    return findings


def _measured(run: RunDirectory, done: Judged, progress: Progress) -> Findings:
    """The stages that measure: links, delays and their parts."""
    judgement, context = done.judgement, done.context
    logs, publications, nodes, buckets = judgement.logs, judgement.publications, context.nodes, context.buckets
    asked = [asked_of(run, number, logs) for number in range(len(run.manifest.variants))]
    budgets = [
        budgeted(run.manifest, number, of_variant, judgement.full_sessions[number])
        for number, of_variant in enumerate(asked)
    ]
    by_link = LinkStage(HopStage(asked, nodes), PassageStage(budgets, nodes, buckets))
    hops_read = done.read.field("hops").grouped(Grouping("bucket", buckets), by_link, HOPS_READ).kept()
    hops = total(hops_read, HopTally(), counted("reading links", progress))
    measured = done.delivered.field("delays").grouped(Grouping("bucket", buckets), measure_delays, MEASURED)
    delays = total(measured, DelayTally(), counted("measuring delays", progress))
    ways = done.judged.field("notified_ways").with_rows_of(hops_read.field("passages"))
    by_way = WayStage(BudgetStage(budgets, nodes), WaySumStage(asked, nodes))
    cut = ways.grouped(Grouping("bucket", buckets), by_way, WAYS_READ).kept()
    budget = total(cut, BudgetTally(), counted("measuring delays", progress))
    replay, backlogs = _by_variant(
        hops_read, cut, VariantStage(ReplayStage(budgets, nodes), BacklogStage(asked, nodes)), progress
    )
    way_sums = total(cut, WayTally(), counted("measuring delays", progress))
    names = tuple(variant.name for variant in run.manifest.variants)
    return Findings(
        judgement=judgement,
        hops=hops,
        traffic=_traffic(run, logs, publications),
        delays=DelayTables(delays, names),
        budget=BudgetTables(budget, budgets, names),
        without_access=DelayTables(_without_access(cut, asked, progress), names),
        replay=replay,
        ways=way_sums,
        backlogs=backlogs,
        faults=FaultTables(context.variants, publications.baselines, judgement.publishers.faults, logs.neighbours),
        work=WorkTables(publications.work, names),
        changes=context.changes,
        placements=PlacementTables(context.joined, logs.detected, run.manifest.variants),
    )


def _without_access(cut: Frame, variants: Sequence[AskedVariant], progress: Progress) -> DelayTally:
    """The delays of whole variants without access links; nothing where no client is on a site."""
    if not any(variant.sites for variant in variants):
        return DelayTally()
    found = cut.field("without_access").grouped(Grouping("bucket", len(variants)), measure_delays, MEASURED)
    return total(found, DelayTally(), counted("measuring delays", progress))


def _by_variant(
    hops_read: Frame, cut: Frame, stage: VariantStage, progress: Progress
) -> tuple[ReplayTally, BacklogTally]:
    """Stage 5; nothing where no variant is replayed."""
    variants = stage.replay.variants
    replay, backlogs = ReplayTally(), BacklogTally()
    if any(variant.replayed for variant in variants):
        rows = hops_read.field("of_variants").with_rows_of(cut.field("of_variants"))
        read = rows.grouped(Grouping("variant", len(variants)), stage, VARIANTS_READ).kept()
        replay = total(read, replay, counted("replaying without contention", progress))
        backlogs = total(read, backlogs, counted("replaying without contention", progress))
    return replay, backlogs


def _traffic(run: RunDirectory, logs: LogTally, publications: PublicationTally) -> TrafficTables:
    variants = run.manifest.variants
    return TrafficTables(
        logs.traffic,
        tuple(variant.name for variant in variants),
        run_starts=[variant.run_start for variant in variants],
        scales=[publications.counts.of(number).scale for number in range(len(variants))],
    )


def _publish(run: RunDirectory, done: Judged, folder: Folder, parts: Parts) -> None:
    """Replaces the tables whose parts the workers wrote. The run has no summary meanwhile, so that nobody takes tables
    of two analyses for those of one."""
    names, results = [variant.name for variant in run.manifest.variants], run.folder.below(RESULTS)
    run.folder.remove(SUMMARY)
    written = publish_parts(folder, Notification, results, names)
    publish_parts(folder, Expectation, results, names)
    if done.context.composite_buckets:
        publish_parts(folder, Detection, results, names)
        publish_parts(folder, ExpectedDetection, results, names)
    else:
        results.remove(table_file(Detection))
        results.remove(table_file(ExpectedDetection))
    if parts.events is not None:
        publish_events(parts.events, results, names)
    else:
        results.remove(EVENTS)
    if written != sum(counts.delivered for counts in done.judgement.publishers.counts):
        raise RunDirectoryError(f"{run.results}: parts of tables are missing: another analysis of the run removed them")
