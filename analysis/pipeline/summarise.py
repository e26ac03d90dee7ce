"""The summary of a run, made of the findings of the stages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import partial
from typing import TypeVar

import msgspec
from msgspec import UNSET

from analysis.auditing import Evidence, audit
from analysis.auditing.evidence import BudgetRows
from analysis.auditing.processor_waits import waits_in_words
from analysis.auditing.request import costs_of, service_time_of
from analysis.compare.variants import compare_variants
from analysis.judging.histories.settling import ALLOWANCE
from analysis.judging.histories.starting import BrokerStart
from analysis.judging.limits import with_limits
from analysis.judging.publication_tally import PublicationCounts
from analysis.pipeline.delivery import delivery_of, overall
from analysis.pipeline.deployed_systems import system_figures
from analysis.pipeline.figures import JudgedDelays
from analysis.pipeline.held_up import held_up
from analysis.pipeline.incomplete_logs import incomplete
from analysis.pipeline.real_time import starved
from analysis.pipeline.stages import Findings
from analysis.reading.stays import sites_ever
from analysis.run_files.run_directory import RunDirectory
from analysis.tables.broker_work import MatchingLoad
from analysis.tables.budget import Budget, BudgetAtNode, BudgetOverTime
from analysis.tables.delays import DelayByHops, DelayDistribution
from analysis.tables.slow_starts import SlowStart
from analysis.tables.structs import struct_from
from analysis.tables.summary import (
    UNKNOWN_FIDELITY,
    Delay,
    DelayWithoutAccess,
    DelayWithoutContention,
    KindMessages,
    Matching,
    SampledLogs,
    SentBytes,
    Summary,
    VariantSummary,
)
from analysis.tables.timeline import Fault
from analysis.tables.traffic import BrokerMessages, Drop
from broker_service.messages import Kind
from record.contract import UNKNOWN_WORK
from record.fidelity import Check, FidelityVerdict, worst
from record.manifest import MODELLED, VariantRecord
from record.time_units import SECOND

_PUBLISH = Kind.PUBLISH.word
_Row = TypeVar(
    "_Row",
    BrokerMessages,
    Budget,
    BudgetAtNode,
    BudgetOverTime,
    DelayByHops,
    DelayDistribution,
    Drop,
    Fault,
    MatchingLoad,
)


def summarise(run: RunDirectory, findings: Findings) -> Summary:
    """The summary of a run."""
    variants = with_limits(_variants(run, findings), run.manifest.variants, partial(_largest_memory, findings))
    return Summary(
        run_id=run.manifest.run_id,
        delivery=overall([variant.delivery.verdicts for variant in variants]),
        fidelity=_fidelity(run, None, [check for variant in variants for check in variant.checks]),
        interrupted=run.manifest.interrupted,
        logs=findings.judgement.logs.loss(run.brokers_without_log),
        variants=variants,
        comparison=compare_variants(
            variants,
            findings.judgement.publications.blocks,
            run.manifest.seed,
            overlays=run.overlays,
            links_of=findings.traffic.links_of,
        ),
    )


def _largest_memory(findings: Findings) -> dict[str, int]:
    """The memory of the largest broker of each variant, in bytes; without those of which none was read."""
    largest: dict[str, int] = {}
    for load in findings.traffic.loads():
        if load.memory_bytes is not None:
            largest[load.variant] = max(load.memory_bytes, largest.get(load.variant, 0))
    return largest


def _variants(run: RunDirectory, findings: Findings) -> list[VariantSummary]:
    messages, matching = findings.traffic.messages(), findings.traffic.matching()
    drops, hops = findings.traffic.drops(run.brokers), findings.delays.by_hops()
    faults, budgets = findings.faults.faults(), _Budgets(findings)
    summaries = []
    for number, variant in enumerate(run.manifest.variants):
        publications = findings.judgement.publications.counts.of(number)
        moved = _of(variant.name, messages)
        delay = _delay(run, number, findings)
        audited = audit(_evidence(run, number, findings, budgets.of(number, variant.name, delay)))
        slow = list(held_up(findings.budget.beside_slow(number), run.sites.get(variant.name, ())))
        starving, lacking = _starved(run, variant.name, delay), incomplete(audited)
        counted = [figure.check for figure in delay.figures if figure.counts]
        summaries.append(
            VariantSummary(
                name=variant.name,
                fidelity=_fidelity(run, variant.name, [*audited, *counted]),
                audit=audited,
                interrupted=variant.interrupted,
                delivery=delivery_of(number, variant, findings.judgement, starving, lacking, held_up=slow),
                delay=delay,
                delay_by_hops=_of(variant.name, hops),
                sampled_logs=_sampled_logs(variant, publications),
                messages=_by_kind(moved),
                broker_messages=moved,
                matching=_matching(publications, moved, _of(variant.name, matching)) if variant.brokers_log else UNSET,
                withheld=_withheld(variant),
                system=system_figures(
                    variant, run.overlays[variant.name], _of(variant.name, drops), _of(variant.name, hops)
                ),
                sent=_sent(run, variant.name),
                router_work=findings.work.of_variant(number),
                drops=_of(variant.name, drops),
                faults=_of(variant.name, faults),
                slow_starts=_slow_starts(findings.judgement.restarted[number]) or UNSET,
            )
        )
    return summaries


def _starved(run: RunDirectory, variant: str, delay: Delay) -> list[str]:
    return starved(run.fidelity, variant, delay.figures, waits_in_words(run.processor_times(variant)))


def _fidelity(run: RunDirectory, variant: str | None, made: Iterable[Check]) -> str:
    """The worst of the checks made here and the verdict on a variant, or on the run where that was not judged by
    itself."""
    found = worst(check.verdict for check in made)
    if run.fidelity is None:
        return found if found is FidelityVerdict.INVALID else UNKNOWN_FIDELITY
    judged = None if variant is None else run.fidelity.of(variant)
    return worst([run.fidelity.verdict if judged is None else judged.verdict, found])


class _Budgets:
    """The tables of the budget, which are made once."""

    def __init__(self, findings: Findings) -> None:
        tables = findings.budget
        self._tables = tables.by_delay(), tables.over_time(), tables.at_nodes()
        self._distribution = findings.delays.distribution()
        self._ways, self._backlogs = findings.ways, findings.backlogs.backlogs

    def of(self, number: int, name: str, delay: Delay) -> BudgetRows:
        """The rows of one variant."""
        by_delay, over_time, at_nodes = self._tables
        return BudgetRows(
            delay=delay,
            by_delay=_of(name, by_delay),
            over_time=_of(name, over_time),
            at_nodes=_of(name, at_nodes),
            ways=self._ways.ways.of(number),
            on_hosts=[row for row in self._ways.on_hosts if row.variant == number],
            backlog=self._backlogs.of(number).backlog,
            distribution=_of(name, self._distribution),
        )


def _evidence(run: RunDirectory, number: int, findings: Findings, budget: BudgetRows) -> Evidence:
    variant = run.manifest.variants[number]
    return Evidence(
        number=number,
        variant=variant,
        scenario=run.manifest.scenario,
        overlay=run.overlays[variant.name],
        sites=sites_ever(run, variant.name),
        logs=findings.judgement.logs,
        causes=findings.judgement.publications.causes,
        issued=findings.judgement.publications.issued,
        hops=findings.hops,
        budget=budget,
        at_rest=run.manifest.at_rest,
        host_speeds=run.manifest.speeds,
        processors=run.processor_times(variant.name),
        hosts=[host.name for host in run.manifest.hosts],
        unsampled=run.unsampled_hosts(variant.name),
        modelled=run.manifest.links.name == MODELLED.name,
        program=run.manifest.program or None,
        service_time=service_time_of(run.manifest, variant),
        costs=costs_of(run.manifest, variant),
        clock_error=max((clock.error for clock in run.clocks.values()), default=0),
    )


def _delay(run: RunDirectory, number: int, findings: Findings) -> Delay:
    """The delays of one variant, with the verdicts on their figures."""
    variant = run.manifest.variants[number]
    measured = _measured_delay(number, findings)
    if variant.foreign is not UNSET:
        measured = msgspec.structs.replace(measured, budget=UNSET, without_contention=UNSET, without_access=UNSET)
    fidelity = None if run.fidelity is None else run.fidelity.of(variant.name)
    judged = JudgedDelays(
        variant=variant,
        delay=measured,
        by_delay=[row for row in findings.budget.by_delay() if row.variant == variant.name],
        simulated=run.manifest.links.name == MODELLED.name,
        processors=None if fidelity is None else fidelity.processors,
        unsampled=list(run.unsampled_hosts(variant.name)),
        host=findings.budget.busiest_host(number),
    )
    return msgspec.structs.replace(measured, figures=judged.figures())


def _withheld(variant: VariantRecord) -> list[str] | msgspec.UnsetType:
    """Figures that are absent because the brokers are not brokerlab's, with the reasons."""
    foreign = variant.foreign
    if foreign is UNSET:
        return UNSET
    drops = "drops" if foreign.system is UNSET else "drops within servers"
    of_logs = (
        f"paths, queueing, messages, matching, router work, {drops}, and neighbours' notice of faults: {foreign.reason}"
    )
    return [*(() if foreign.logs else (of_logs,)), f"parts of the delay: {UNKNOWN_WORK}"]


def _sent(run: RunDirectory, variant: str) -> SentBytes | msgspec.UnsetType:
    found = None if run.fidelity is None else run.fidelity.of(variant)
    if found is None or found.sent is UNSET:
        return UNSET
    busiest = max(found.sent, key=lambda direction: direction.sent)
    return SentBytes(
        bytes=sum(direction.sent for direction in found.sent),
        busiest_bytes=busiest.sent,
        busiest_from=busiest.source,
        busiest_to=busiest.target,
    )


def _measured_delay(number: int, findings: Findings) -> Delay:
    figures, budget = findings.delays.of_all(number), findings.budget.of_all(number)
    if figures is None:
        return Delay(
            notifications=0, mean_ms=None, p50_ms=None, p95_ms=None, p99_ms=None, max_ms=None,
            queueing_share=None, ways_known=0,
        )  # fmt: skip
    if budget is None:
        return struct_from(Delay, figures)
    replayed = figures if findings.budget.variants[number].simulated else findings.replay.of(number)
    without = UNSET if replayed is None else struct_from(DelayWithoutContention, replayed)
    overlays = findings.without_access.of_all(number)
    without_access = UNSET if overlays is None else struct_from(DelayWithoutAccess, overlays)
    return struct_from(Delay, figures, budget=budget, without_contention=without, without_access=without_access)


def _sampled_logs(variant: VariantRecord, publications: PublicationCounts) -> SampledLogs | msgspec.UnsetType:
    if variant.sample is msgspec.UNSET:
        return msgspec.UNSET
    return SampledLogs(share=variant.sample.share, published=publications.published, logged=publications.logged)


def _by_kind(messages: Iterable[BrokerMessages]) -> list[KindMessages]:
    by_kind: dict[str, list[BrokerMessages]] = defaultdict(list)
    for row in messages:
        by_kind[row.kind].append(row)
    return [
        KindMessages(
            kind=kind,
            from_clients=sum(row.from_clients for row in of_kind),
            received=sum(row.received for row in of_kind),
            sent=sum(row.sent for row in of_kind),
            sent_bytes=sum(row.sent_bytes for row in of_kind),
        )
        for kind, of_kind in sorted(by_kind.items())
    ]


def _matching(
    publications: PublicationCounts, messages: Iterable[BrokerMessages], loads: Iterable[MatchingLoad]
) -> Matching:
    operations = sum(load.operations for load in loads)
    compared = round(publications.compared * publications.scale)
    received = sum(row.from_clients + row.received for row in messages if row.kind == _PUBLISH)
    return Matching(
        operations=operations,
        publication_messages=received,
        share=operations / received if received else None,
        per_publication=operations / compared if compared else None,
        most_brokers=publications.most_brokers,
        at_several_brokers=round(publications.at_several_brokers * publications.scale),
    )


def _slow_starts(starts: Iterable[BrokerStart]) -> list[SlowStart]:
    return [
        SlowStart(broker=broker, restarted_ns=restarted, took_s=(listened - restarted) / SECOND)
        for broker, restarted, listened in starts
        if listened - restarted > ALLOWANCE
    ]


def _of(variant: str, table: Iterable[_Row]) -> list[_Row]:
    return [row for row in table if row.variant == variant]
