"""From tables to the summary: a few small aggregates per variant, collected and put into words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from concurrent.futures import Executor
from typing import Any, TypeVar

import msgspec
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from analysis.comparison import Comparison, compare, paired_blocks
from analysis.delays import delay_aggregates, timed
from analysis.examples import examples
from analysis.logs import LogLoss
from analysis.oracle import SETTLE_SECONDS
from analysis.pipeline import Tables
from analysis.results import rows
from analysis.run_directory import RunDirectory
from analysis.summary import (
    CORRECT,
    UNJUDGED,
    Delay,
    Delivery,
    Example,
    KindMessages,
    Matching,
    Summary,
    VariantSummary,
)
from analysis.tables import BrokerMessages, Defect, DelayByHops, Drop, MatchingLoad, Right

_PUBLISH = "publish"
_DELIVERY_COUNTS = ("expected", "delivered", "optional", "lost", "duplicate", "spurious")
_Of = TypeVar("_Of", BrokerMessages, DelayByHops, Drop, MatchingLoad)
ByVariant = Mapping[str, Mapping[str, Any]]


def summarise(run: RunDirectory, loss: LogLoss, tables: Tables, executor: Executor) -> Summary:
    """The summary of a run. Jobs run side by side in `executor`."""
    # Each of these is one Spark job; together they are what the summary costs.
    delivery = executor.submit(_by_variant, _delivery_counts(tables["expected"]))
    publications = executor.submit(_by_variant, _publication_counts(tables.journeys))
    delays = executor.submit(_by_variant, _delay_counts(tables["notifications"]))
    unconfirmed = executor.submit(_by_variant, _unconfirmed(tables.lifetimes))
    hops = executor.submit(rows, tables["hops"], DelayByHops)
    messages = executor.submit(rows, tables["messages"], BrokerMessages)
    matching = executor.submit(rows, tables["matching"], MatchingLoad)
    drops = executor.submit(rows, tables["drops"], Drop)
    compared = executor.submit(_comparison, run, tables["notifications"])
    found = examples(tables) if _any_defect(delivery.result(), delays.result()) else []

    variants = []
    for variant in run.manifest.variants:
        name = variant.name
        counts = _Counts(
            delivery=delivery.result().get(name, {}),
            publications=publications.result().get(name, {}),
            delays=delays.result().get(name, {}),
            unconfirmed=unconfirmed.result().get(name, {}),
        )
        moved = sorted(_of(name, messages.result()), key=lambda row: (row.broker, row.kind))
        variants.append(
            VariantSummary(
                name=name,
                fidelity=run.fidelity.of(name),
                interrupted=variant.interrupted,
                delivery=_delivery(counts, [example for of, example in found if of == name]),
                delay=_delay(counts.delays),
                delay_by_hops=sorted(_of(name, hops.result()), key=lambda row: row.hops),
                messages=_by_kind(moved),
                broker_messages=moved,
                matching=_matching(counts.publications, moved, _of(name, matching.result())),
                drops=sorted(_of(name, drops.result()), key=lambda row: (row.node, row.event, row.kind, row.reason)),
            )
        )
    return Summary(
        run_id=run.manifest.run_id,
        delivery=overall([variant.delivery.verdicts for variant in variants]),
        fidelity=run.fidelity.verdict,
        interrupted=run.manifest.interrupted,
        settle_seconds=SETTLE_SECONDS,
        logs=loss,
        variants=variants,
        comparison=compared.result(),
    )


def overall(verdicts: Iterable[list[str]]) -> list[str]:
    """The verdict on a run from those on its variants: every defect found; else unjudged if one is; else correct."""
    found = {verdict for each in verdicts for verdict in each}
    defects: list[str] = [defect.value for defect in Defect if defect.value in found]
    return defects or ([UNJUDGED] if UNJUDGED in found else [CORRECT])


class _Counts(msgspec.Struct, frozen=True, kw_only=True):
    """The aggregates of one variant, by column; empty where it has no row."""

    delivery: Mapping[str, Any]
    publications: Mapping[str, Any]
    delays: Mapping[str, Any]
    unconfirmed: Mapping[str, Any]


def _delivery_counts(expected: DataFrame) -> DataFrame:
    right, notifications = F.col("right"), F.col("notifications")
    entitled = right != Right.NONE
    causes = F.collect_list(F.when(F.col("cause").isNotNull(), F.struct("cause", "of_cause")))
    return (
        expected.groupBy("variant", "cause")
        .agg(
            F.count(F.when(right == Right.MUST, 1)).alias("expected"),
            F.sum("notifications").alias("delivered"),
            F.count(F.when((right == Right.MAY) & (notifications > 0), 1)).alias("optional"),
            F.count(F.when((right == Right.MUST) & (notifications == 0), 1)).alias("lost"),
            F.sum(F.when(entitled, F.greatest(notifications - 1, F.lit(0))).otherwise(0)).alias("duplicate"),
            F.sum(F.when(~entitled, notifications).otherwise(0)).alias("spurious"),
        )
        .withColumn("of_cause", F.col("spurious"))
        .groupBy("variant")
        .agg(
            *(F.sum(name).alias(name) for name in _DELIVERY_COUNTS),
            causes.alias("causes"),
        )
    )


def _publication_counts(journeys: DataFrame) -> DataFrame:
    made, brokers = F.col("published") > 0, F.col("matching_brokers")
    return journeys.groupBy("variant").agg(
        F.count(F.when(made, 1)).alias("published"),
        F.count(F.when(made & F.col("rejected"), 1)).alias("rejected"),
        F.count(F.when(brokers > 0, 1)).alias("compared"),
        F.count(F.when(brokers > 1, 1)).alias("at_several_brokers"),
        F.max(brokers).alias("most_brokers"),
    )


def _delay_counts(notifications: DataFrame) -> DataFrame:
    return (
        notifications.transform(timed)
        .groupBy("variant")
        .agg(
            *delay_aggregates(),
            F.count("queueing_ms").alias("ways_known"),
            F.count(F.when(F.col("overtaken"), 1)).alias("reordered"),
        )
    )


def _unconfirmed(lifetimes: DataFrame) -> DataFrame:
    return lifetimes.groupBy("variant").agg(F.count(F.when(F.col("confirmed_ns").isNull(), 1)).alias("unconfirmed"))


def _comparison(run: RunDirectory, notifications: DataFrame) -> Comparison | None:
    if len(run.manifest.variants) < 2:
        return None
    reference, variant = (each.name for each in run.manifest.variants[:2])
    blocks = paired_blocks(notifications, reference, variant).collect()
    return compare(reference, variant, [tuple(block) for block in blocks], run.manifest.seed)


def _by_variant(frame: DataFrame) -> dict[str, dict[str, Any]]:
    return {row["variant"]: row.asDict() for row in frame.collect()}


def _any_defect(delivery: ByVariant, delays: ByVariant) -> bool:
    defective = any(row["lost"] or row["duplicate"] or row["spurious"] for row in delivery.values())
    return defective or any(row["reordered"] for row in delays.values())


def _delivery(counts: _Counts, found: list[Example]) -> Delivery:
    row = counts.delivery
    numbers = {name: row.get(name) or 0 for name in _DELIVERY_COUNTS}
    published = counts.publications.get("published", 0)
    return Delivery(
        verdicts=_verdicts(numbers, published),
        published=published,
        rejected=counts.publications.get("rejected", 0),
        **numbers,
        spurious_causes=dict(row.get("causes", [])),
        reordered=counts.delays.get("reordered", 0),
        unconfirmed=counts.unconfirmed.get("unconfirmed", 0),
        examples=found,
    )


def _verdicts(numbers: Mapping[str, int], published: int) -> list[str]:
    counted = {Defect.LOST: "lost", Defect.DUPLICATED: "duplicate", Defect.SPURIOUS: "spurious"}
    defects: list[str] = [defect.value for defect, name in counted.items() if numbers[name]]
    return defects or ([CORRECT] if published else [UNJUDGED])


def _delay(row: Mapping[str, Any]) -> Delay:
    names = ("mean_ms", "p50_ms", "p95_ms", "p99_ms", "max_ms", "queueing_share")
    return Delay(
        notifications=row.get("notifications", 0),
        ways_known=row.get("ways_known", 0),
        **{name: row.get(name) for name in names},
    )


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
    publications: Mapping[str, Any], messages: Iterable[BrokerMessages], loads: Iterable[MatchingLoad]
) -> Matching:
    operations = sum(load.operations for load in loads)
    received = sum(row.from_clients + row.received for row in messages if row.kind == _PUBLISH)
    compared = publications.get("compared", 0)
    return Matching(
        operations=operations,
        publication_messages=received,
        share=operations / received if received else None,
        per_publication=operations / compared if compared else None,
        most_brokers=publications.get("most_brokers") or 0,
        at_several_brokers=publications.get("at_several_brokers", 0),
    )


def _of(variant: str, table: Iterable[_Of]) -> list[_Of]:
    return [row for row in table if row.variant == variant]
