"""What moved, where: the tables about brokers and links, all from one pass over the records."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from analysis.journeys import MILLISECOND
from analysis.phases import seconds
from analysis.tables import as_table
from broker_service.trace import Event

_COUNTED = (Event.RECEIVED, Event.SENT, Event.DELIVERED, Event.MATCHED, Event.DROPPED, Event.REJECTED)


def activity(records: DataFrame) -> DataFrame:
    """One row per variant, node, event, kind, peer and reason: how many records, and sums and maxima of their numbers.

    Small (brokers x neighbours x kinds), so that every table below costs next to nothing.
    """
    return (
        records.where(F.col("event").isin(*_COUNTED))
        .groupBy("variant", "node", "event", "kind", "peer", F.col("text").alias("reason"))
        .agg(
            F.count("*").alias("records"),
            F.sum(F.coalesce("count", F.lit(1))).alias("counted"),
            F.sum("bytes").alias("bytes"),
            F.sum("duration").alias("duration"),
            F.max("duration").alias("max_duration"),
            F.max("queue").alias("max_queue"),
        )
    )


def messages(activity: DataFrame) -> DataFrame:
    """The table `messages`. A received record without a peer came from a client."""
    from_client = F.col("peer").isNull()
    return (
        activity.where(_is(Event.RECEIVED) | _is(Event.SENT) | _is(Event.DELIVERED))
        .groupBy("variant", F.col("node").alias("broker"), F.coalesce("kind", F.lit("control")).alias("kind"))
        .agg(
            _total("records", _is(Event.RECEIVED) & from_client).alias("from_clients"),
            _total("records", _is(Event.RECEIVED) & ~from_client).alias("received"),
            _total("records", _is(Event.SENT)).alias("sent"),
            _total("records", _is(Event.DELIVERED)).alias("delivered"),
            _total("bytes", _is(Event.RECEIVED)).alias("received_bytes"),
            _total("bytes", _is(Event.SENT)).alias("sent_bytes"),
        )
        .transform(as_table("messages"))
    )


def links(activity: DataFrame) -> DataFrame:
    """The table `links`."""
    return (
        activity.where(_is(Event.SENT))
        .groupBy("variant", F.col("node").alias("source"), F.col("peer").alias("target"))
        .agg(
            F.sum("records").alias("messages"),
            _total("records", F.col("kind") == "publish").alias("publications"),
            F.coalesce(F.sum("bytes"), F.lit(0)).alias("bytes"),
            F.max("max_queue").alias("max_queue"),
            (F.sum("duration") / F.sum("records") / MILLISECOND).alias("mean_wait_ms"),
            (F.max("max_duration") / MILLISECOND).alias("max_wait_ms"),
        )
        .transform(as_table("links"))
    )


def matching(activity: DataFrame) -> DataFrame:
    """The table `matching`."""
    return (
        activity.where(_is(Event.MATCHED))
        .groupBy("variant", F.col("node").alias("broker"))
        .agg(
            F.sum("records").alias("operations"),
            F.sum("counted").alias("matches"),
            F.coalesce(F.sum("duration") / MILLISECOND, F.lit(0.0)).alias("time_ms"),
        )
        .transform(as_table("matching"))
    )


def drops(activity: DataFrame, brokers: Sequence[str]) -> DataFrame:
    """The table `drops`. Refusals are taken from the clients, so that none counts twice."""
    refused = _is(Event.REJECTED) & ~F.col("node").isin(list(brokers))
    return (
        activity.where(_is(Event.DROPPED) | refused)
        .groupBy(
            "variant",
            "node",
            "event",
            F.coalesce("kind", F.lit("")).alias("kind"),
            F.coalesce("reason", F.lit("")).alias("reason"),
        )
        .agg(F.sum("counted").alias("count"))
        .transform(as_table("drops"))
    )


def queues(records: DataFrame, times: DataFrame) -> DataFrame:
    """The table `queues`, from the gauges of links (a gauge without a peer is of messages that wait for service)."""
    return (
        records.where(_is(Event.QUEUE) & F.col("peer").isNotNull())
        .join(F.broadcast(times), "variant")
        .groupBy(
            "variant", F.col("node").alias("broker"), F.col("peer").alias("neighbour"), seconds("time").alias("second")
        )
        .agg(
            F.max(F.coalesce("queue", F.lit(0))).alias("queue"),
            F.max(F.coalesce("count", F.lit(0))).alias("in_flight"),
        )
        .transform(as_table("queues"))
    )


def _is(event: Event) -> Column:
    return F.col("event") == event.value


def _total(column: str, condition: Column) -> Column:
    return F.coalesce(F.sum(F.when(condition, F.col(column))), F.lit(0))
