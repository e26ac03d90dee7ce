"""Everything that a report shows, read from an analysed run directory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from analysis.compare import RunComparison
from analysis.compare.twin import read_twin_comparison
from analysis.live.follower import Follower
from analysis.live.frames import ShownVariant
from analysis.query import open_tables
from analysis.report.figures.burst_recovery import BurstRecovery, read_burst_recoveries
from analysis.report.figures.delay_penalty import PenaltyDistribution, read_delay_penalties
from analysis.report.figures.group_rates import GroupRates, read_group_rates
from analysis.report.notable import Notable, read_listed, read_notable
from analysis.report.percentiles import Percentiles, read_percentiles
from analysis.run_files.planned_loads import read_loads
from analysis.run_files.run_directory import open_run
from analysis.tables.audited import with_audit
from analysis.tables.broker_work import BrokerLoad
from analysis.tables.budget import Budget, BudgetOverTime
from analysis.tables.buffers import BufferSize
from analysis.tables.delays import DelayDistribution, DelayOverTime
from analysis.tables.deliveries import DeliveryByReceivers, DeliveryOverTime
from analysis.tables.detections import DetectionDelays
from analysis.tables.motion import Connectivity, DegreeOverTime
from analysis.tables.placements import Placement
from analysis.tables.results import read_table, table_file
from analysis.tables.starts import Start
from analysis.tables.summary import Summary, read_summary
from analysis.tables.timeline import Fault, PhaseTimes
from analysis.tables.traffic import BrokerMessages, LabelledMessages, LinkLoad, NetworkUsage, QueueLength, RouteLength
from analysis.trace import ASKED
from record.errors import RunDirectoryError
from record.fidelity import VariantFidelity
from record.files import LOGS, MANIFEST, RESULTS, SUMMARY, TWIN
from record.forked_calls import called_beside
from record.load import Load
from record.manifest import Manifest
from topology.model import Overlay

_Row = TypeVar("_Row", DeliveryByReceivers, RouteLength, NetworkUsage, DetectionDelays, Placement, Start, BufferSize)

MOST_REPLAYED = 400_000_000
"""Bytes of logs that are read again for the replay, about two million records."""


@dataclass(frozen=True)
class TwinData:
    """The simulated twin of the run."""

    comparison: RunComparison
    distribution: list[DelayDistribution]
    """The twin's delays."""


@dataclass(frozen=True)
class ReportData:
    """The data of one page. Tables are small: they grow with brokers, links and seconds, not with messages."""

    directory: Path
    run: Manifest
    overlays: dict[str, Overlay]
    """Overlay of each variant."""
    fidelity: Mapping[str, VariantFidelity]
    """Fidelity of each variant, with its audit; empty for a run without `fidelity.json` whose audit is not INVALID."""
    summary: Summary
    delivery: list[DeliveryOverTime]
    """Delivery ratio over time; empty for protocols that promise every delivery."""
    receivers: list[DeliveryByReceivers]
    """Delivery ratio by number of receivers; empty for a run without a best-effort protocol."""
    routes: list[RouteLength]
    network_usage: list[NetworkUsage]
    """Usage of the routers' network; empty for a run that is over none."""
    delays: list[DelayOverTime]
    distribution: list[DelayDistribution]
    budget: list[Budget]
    """Empty where the log holds no way of a notification, as the next."""
    budget_over_time: list[BudgetOverTime]
    detection_delays: list[DetectionDelays]
    """Delays of detections; empty for a run without composite subscriptions."""
    placements: list[Placement]
    """Join points, in the order in which they began; empty for a run that routes no composite subscriptions as
    units."""
    starts: list[Start]
    """Announced starts of subscriptions; empty for a run whose protocol announces none."""
    messages: list[BrokerMessages]
    labels: list[LabelledMessages]
    """Messages with a label; empty where no message carries one."""
    load: list[BrokerLoad]
    links: list[LinkLoad]
    queues: list[QueueLength]
    buffers: list[BufferSize]
    """Buffers of routers over time; empty for a run whose routers have none."""
    connectivity: list[Connectivity]
    """Connectedness over time; empty where no overlay changed."""
    degrees: list[DegreeOverTime]
    replayed: Mapping[str, ShownVariant]
    """The replay of each variant; empty where logs are too large to be read again for it, or elsewhere."""
    phases: list[PhaseTimes]
    burst_recoveries: list[BurstRecovery]
    """One for each variant with notifications of a burst; empty for a scenario without bursts."""
    delay_penalties: list[PenaltyDistribution]
    """One for each variant with a full mesh and notifications at other brokers than the publisher's."""
    group_rates: list[GroupRates]
    """One for each variant whose subscribers are in groups; empty for workloads of another kind than `topics`."""
    percentiles: Sequence[Percentiles]
    """Exact percentiles of delays; none of a variant without notifications."""
    notable: Notable
    """Notifications with a defect, and the slowest."""
    planned_loads: list[Load]
    """The load of each variant as planned; empty for a run of an earlier version."""
    twin: TwinData | None
    """The run's simulated twin; None for a run without one."""

    @property
    def faults(self) -> list[Fault]:
        """The faults of all variants, variant by variant."""
        return [fault for variant in self.summary.variants for fault in variant.faults]

    @property
    def run_starts(self) -> dict[str, int]:
        """The start of the run phase of each variant that reached it, by the run's clock."""
        starts = {variant.name: variant.run_start for variant in self.run.variants}
        return {name: start for name, start in starts.items() if start is not None}

    @property
    def variants(self) -> list[str]:
        return [variant.name for variant in self.summary.variants]


def read_report_data(directory: Path, processes: int = 1) -> ReportData:
    """Reads a run directory, with so many processes. Raises `RunDirectoryError` naming what is missing or wrong."""
    run = open_run(directory)
    results = run.results
    summary = read_summary(directory)
    phases = sorted(read_table(results, PhaseTimes), key=lambda row: row.start_ns)
    names = [variant.name for variant in summary.variants]
    if names != [variant.name for variant in run.manifest.variants]:
        raise RunDirectoryError(
            f"{directory}: {SUMMARY} is of other variants than {MANIFEST}; `brokerlab analyze {directory}` makes it "
            "anew"
        )
    with called_beside(partial(_replayed, directory), "the replay", processes) as replayed:
        with open_tables([run.path], ASKED) as tables:
            listed, percentiles = read_listed(run, tables), read_percentiles(tables)
        notable = read_notable(run, summary, listed, processes)
        replay = replayed()
    judged = with_audit(run.fidelity, summary)
    return ReportData(
        directory=directory,
        run=run.manifest,
        overlays=run.overlays,
        fidelity={} if judged is None else {of_variant.name: of_variant for of_variant in judged.variants},
        summary=summary,
        delivery=sorted(read_table(results, DeliveryOverTime), key=lambda row: row.second),
        receivers=sorted(_of_some_runs(results, DeliveryByReceivers), key=lambda row: row.receivers),
        routes=sorted(_of_some_runs(results, RouteLength), key=lambda row: row.hops),
        network_usage=_of_some_runs(results, NetworkUsage),
        delays=sorted(read_table(results, DelayOverTime), key=lambda row: row.second),
        distribution=sorted(read_table(results, DelayDistribution), key=lambda row: row.lower_ms),
        budget=sorted(read_table(results, Budget), key=lambda row: row.lower_ms),
        budget_over_time=sorted(read_table(results, BudgetOverTime), key=lambda row: row.second),
        detection_delays=sorted(_of_some_runs(results, DetectionDelays), key=lambda row: row.lower_ms),
        placements=_of_some_runs(results, Placement),
        starts=_of_some_runs(results, Start),
        messages=read_table(results, BrokerMessages),
        labels=read_table(results, LabelledMessages),
        load=sorted(read_table(results, BrokerLoad), key=lambda row: row.second),
        links=read_table(results, LinkLoad),
        queues=sorted(read_table(results, QueueLength), key=lambda row: row.second),
        buffers=_of_some_runs(results, BufferSize),
        connectivity=sorted(read_table(results, Connectivity), key=lambda row: row.second),
        degrees=sorted(read_table(results, DegreeOverTime), key=lambda row: row.second),
        replayed=replay,
        phases=phases,
        burst_recoveries=read_burst_recoveries(results, run.manifest.scenario, names, phases),
        delay_penalties=read_delay_penalties(results, run.overlays, names),
        group_rates=read_group_rates(results, run.manifest, phases),
        percentiles=percentiles,
        notable=notable,
        planned_loads=read_loads(directory),
        twin=_read_twin(directory),
    )


def _replayed(directory: Path) -> dict[str, ShownVariant]:
    if sum(log.stat().st_size for log in (directory / LOGS).glob("*.jsonl")) > MOST_REPLAYED:
        return {}
    follower = Follower(directory)
    follower.finish()
    return {variant.name: variant for variant in follower.state().variants if variant.frames}


def _read_twin(directory: Path) -> TwinData | None:
    comparison = read_twin_comparison(directory)
    if comparison is None:
        return None
    distribution = read_table(directory / TWIN / RESULTS, DelayDistribution)
    return TwinData(comparison, sorted(distribution, key=lambda row: row.lower_ms))


def _of_some_runs(results: Path, row: type[_Row]) -> list[_Row]:
    """The rows of a table that only some runs have."""
    return read_table(results, row) if (results / table_file(row)).exists() else []
