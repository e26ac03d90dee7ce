"""The summary of a run, made of the findings of the stages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TypeVar

from analysis.judging.delay_stage import DelayFigures
from analysis.judging.oracle import SETTLE_SECONDS, unconfirmed
from analysis.judging.publication_stage import PublicationCounts
from analysis.judging.publisher_stage import DeliveryCounts
from analysis.pipeline.stages import Findings
from analysis.reading.log_events import BrokerDefect
from analysis.run_files.run_directory import RunDirectory
from analysis.tables.comparison import Comparison, compare
from analysis.tables.definitions import BrokerMessages, Defect, DelayByHops, Drop, Fault, MatchingLoad
from analysis.tables.structs import struct_from
from analysis.tables.summary import (
    BROKER_DEFECT,
    CORRECT,
    STATE_LEFT,
    UNJUDGED,
    UNKNOWN_FIDELITY,
    Delay,
    Delivery,
    Example,
    KindMessages,
    Matching,
    Summary,
    VariantSummary,
)

_PUBLISH = "publish"
_Row = TypeVar("_Row", BrokerMessages, DelayByHops, Drop, Fault, MatchingLoad)


def summarise(run: RunDirectory, findings: Findings) -> Summary:
    """The summary of a run."""
    variants = _variants(run, findings)
    return Summary(
        run_id=run.manifest.run_id,
        delivery=overall([variant.delivery.verdicts for variant in variants]),
        fidelity=_fidelity(run),
        interrupted=run.manifest.interrupted,
        settle_seconds=SETTLE_SECONDS,
        logs=findings.logs.loss,
        variants=variants,
        comparison=_comparison(run, findings),
    )


def _variants(run: RunDirectory, findings: Findings) -> list[VariantSummary]:
    messages, matching = findings.traffic.messages(), findings.traffic.matching()
    drops, hops = findings.traffic.drops(run.brokers), findings.delays.by_hops()
    faults = findings.faults.faults()
    summaries = []
    for number, variant in enumerate(run.manifest.variants):
        publications = findings.publications.counts.get(number, PublicationCounts())
        lifetimes = (lifetime for lifetime in findings.lifetimes if lifetime.variant == number)
        moved = _of(variant.name, messages)
        summaries.append(
            VariantSummary(
                name=variant.name,
                fidelity=_fidelity(run, variant.name),
                interrupted=variant.interrupted,
                delivery=_delivery(
                    publications,
                    findings.publishers.counts.get(number, DeliveryCounts()),
                    unconfirmed(lifetimes),
                    findings.publishers.examples.of(number),
                    _broker_problems(
                        [defect for defect in findings.logs.defects if defect.variant == number],
                        variant.remaining_state or {},
                    ),
                ),
                delay=_delay(findings.delays.of_all(number)),
                delay_by_hops=_of(variant.name, hops),
                messages=_by_kind(moved),
                broker_messages=moved,
                matching=_matching(publications, moved, _of(variant.name, matching)),
                router_work=findings.work.of_variant(number),
                drops=_of(variant.name, drops),
                faults=_of(variant.name, faults),
            )
        )
    return summaries


def _fidelity(run: RunDirectory, variant: str | None = None) -> str:
    """The fidelity verdict on a variant, or on the run where the variant was not judged by itself."""
    if run.fidelity is None:
        return UNKNOWN_FIDELITY
    judged = None if variant is None else run.fidelity.of(variant)
    return run.fidelity.verdict if judged is None else judged.verdict


def overall(verdicts: Iterable[list[str]]) -> list[str]:
    """The verdict on a run: a broker defect alone; else every defect found in any variant; without defects, unjudged if
    a variant is; else correct."""
    found = {verdict for of_variant in verdicts for verdict in of_variant}
    if BROKER_DEFECT in found:
        return [BROKER_DEFECT]
    defects = [name for name in (*(defect.value for defect in Defect), STATE_LEFT) if name in found]
    return defects or ([UNJUDGED] if UNJUDGED in found else [CORRECT])


def _comparison(run: RunDirectory, findings: Findings) -> Comparison | None:
    if len(run.manifest.variants) < 2:
        return None
    reference, variant = (variant.name for variant in run.manifest.variants[:2])
    return compare(reference, variant, findings.publications.blocks, run.manifest.seed)


def _delivery(
    publications: PublicationCounts,
    counts: DeliveryCounts,
    never_confirmed: int,
    examples: list[Example],
    broker_problems: list[Example],
) -> Delivery:
    return struct_from(
        Delivery,
        publications,
        counts,
        verdicts=_verdicts(counts, publications.published, broker_problems),
        spurious_causes=dict(sorted(counts.spurious_causes.items())),
        unconfirmed=never_confirmed,
        examples=[*broker_problems, *examples],
    )


def _broker_problems(defects: Iterable[BrokerDefect], remaining: Mapping[str, list[str]]) -> list[Example]:
    """Problems of brokers that concern no single publication."""
    return [*map(_defect_example, sorted(defects)), *map(_state_example, remaining.items())]


def _defect_example(defect: BrokerDefect) -> Example:
    return Example(
        defect=BROKER_DEFECT,
        publication="",
        client="",
        publisher=None,
        published_ns=None,
        detail=defect.text,
        reached=[defect.broker],
        paths=[],
    )


def _state_example(remaining: tuple[str, list[str]]) -> Example:
    broker, rows = remaining
    return Example(
        defect=STATE_LEFT,
        publication="",
        client="",
        publisher=None,
        published_ns=None,
        detail=f"{broker}, after all clients had left: {'; '.join(rows)}",
        reached=[broker],
        paths=[],
    )


def _verdicts(counts: DeliveryCounts, published: int, broker_problems: list[Example]) -> list[str]:
    found = {problem.defect for problem in broker_problems}
    if BROKER_DEFECT in found:
        return [BROKER_DEFECT]
    counted = {
        Defect.LOST: counts.lost,
        Defect.DUPLICATED: counts.duplicate,
        Defect.SPURIOUS: counts.spurious,
        Defect.REORDERED: counts.reordered,
    }
    defects = [defect.value for defect, count in counted.items() if count] + (
        [STATE_LEFT] if STATE_LEFT in found else []
    )
    return defects or ([CORRECT] if published else [UNJUDGED])


def _delay(figures: DelayFigures | None) -> Delay:
    if figures is None:
        return Delay(
            notifications=0, mean_ms=None, p50_ms=None, p95_ms=None, p99_ms=None, max_ms=None,
            queueing_share=None, ways_known=0,
        )  # fmt: skip
    return struct_from(Delay, figures)


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
    received = sum(row.from_clients + row.received for row in messages if row.kind == _PUBLISH)
    return Matching(
        operations=operations,
        publication_messages=received,
        share=operations / received if received else None,
        per_publication=operations / publications.compared if publications.compared else None,
        most_brokers=publications.most_brokers,
        at_several_brokers=publications.at_several_brokers,
    )


def _of(variant: str, table: Iterable[_Row]) -> list[_Row]:
    return [row for row in table if row.variant == variant]
