"""From the tallies of an analysis to its summary."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import TypeVar

from analysis.judging.delays import DelayFigures
from analysis.judging.judging import PublicationCounts
from analysis.judging.oracle import SETTLE_SECONDS, unconfirmed
from analysis.judging.ordering import DeliveryCounts
from analysis.pipeline import Findings
from analysis.reading.reading import BrokerDefect
from analysis.run_files.run_directory import RunDirectory
from analysis.tables.comparison import Comparison, compare
from analysis.tables.fields import made_of
from analysis.tables.summary import (
    BROKER_DEFECT,
    CORRECT,
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
from analysis.tables.tables import BrokerMessages, Defect, DelayByHops, Drop, Fault, MatchingLoad

_PUBLISH = "publish"
_Of = TypeVar("_Of", BrokerMessages, DelayByHops, Drop, Fault, MatchingLoad)


def summarise(run: RunDirectory, findings: Findings) -> Summary:
    """The summary of a run."""
    messages, matching = findings.traffic.messages(), findings.traffic.matching()
    drops, hops = findings.traffic.drops(run.brokers), findings.delays.by_hops()
    faults = findings.faults.faults()
    variants = []
    for number, variant in enumerate(run.manifest.variants):
        publications = findings.judging.counts.get(number, PublicationCounts())
        lives = (life for life in findings.lifetimes if life.variant == number)
        moved = _of(variant.name, messages)
        variants.append(
            VariantSummary(
                name=variant.name,
                fidelity=_fidelity(run, variant.name),
                interrupted=variant.interrupted,
                delivery=_delivery(
                    publications,
                    findings.ordering.counts.get(number, DeliveryCounts()),
                    unconfirmed(lives),
                    findings.ordering.examples.of(number),
                    [defect for defect in findings.read.defects if defect.variant == number],
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
    return Summary(
        run_id=run.manifest.run_id,
        delivery=overall([variant.delivery.verdicts for variant in variants]),
        fidelity=_fidelity(run),
        interrupted=run.manifest.interrupted,
        settle_seconds=SETTLE_SECONDS,
        logs=findings.read.loss,
        variants=variants,
        comparison=_comparison(run, findings),
    )


def _fidelity(run: RunDirectory, variant: str | None = None) -> str:
    """The fidelity verdict on a variant, or on the run where the variant was not judged by itself."""
    if run.fidelity is None:
        return UNKNOWN_FIDELITY
    judged = None if variant is None else run.fidelity.of(variant)
    return run.fidelity.verdict if judged is None else judged.verdict


def overall(verdicts: Iterable[list[str]]) -> list[str]:
    """The verdict on a run from those on its variants: a broker defect alone; else every defect found; else unjudged if
    one is; else correct."""
    found = {verdict for each in verdicts for verdict in each}
    if BROKER_DEFECT in found:
        return [BROKER_DEFECT]
    defects: list[str] = [defect.value for defect in Defect if defect.value in found]
    return defects or ([UNJUDGED] if UNJUDGED in found else [CORRECT])


def _comparison(run: RunDirectory, findings: Findings) -> Comparison | None:
    if len(run.manifest.variants) < 2:
        return None
    reference, variant = (each.name for each in run.manifest.variants[:2])
    return compare(reference, variant, findings.judging.blocks, run.manifest.seed)


def _delivery(
    publications: PublicationCounts,
    counts: DeliveryCounts,
    never_confirmed: int,
    examples: list[Example],
    defects: list[BrokerDefect],
) -> Delivery:
    return made_of(
        Delivery,
        publications,
        counts,
        verdicts=[BROKER_DEFECT] if defects else _verdicts(counts, publications.published),
        spurious_causes=dict(sorted(counts.spurious_causes.items())),
        unconfirmed=never_confirmed,
        examples=[*map(_defect_example, sorted(defects)), *examples],
    )


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


def _verdicts(counts: DeliveryCounts, published: int) -> list[str]:
    counted = {
        Defect.LOST: counts.lost,
        Defect.DUPLICATED: counts.duplicate,
        Defect.SPURIOUS: counts.spurious,
        Defect.REORDERED: counts.reordered,
    }
    defects: list[str] = [defect.value for defect, count in counted.items() if count]
    return defects or ([CORRECT] if published else [UNJUDGED])


def _delay(figures: DelayFigures | None) -> Delay:
    if figures is None:
        return Delay(
            notifications=0, mean_ms=None, p50_ms=None, p95_ms=None, p99_ms=None, max_ms=None,
            queueing_share=None, ways_known=0,
        )  # fmt: skip
    return made_of(Delay, figures)


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


def _of(variant: str, table: Iterable[_Of]) -> list[_Of]:
    return [row for row in table if row.variant == variant]
