"""What became of each publication: where it arrived, how long it waited on the way, whom it reached.

A notification's way is exact, not estimated. Each arrival of a publication at a broker is logged with the neighbour it
came from and the links travelled; the way to an arrival is the way to the arrival at that neighbour, one link shorter,
plus the wait in that neighbour's output queue. Taken in the order of links travelled, one pass over a publication's
arrivals gives every way. A publication may arrive twice at a broker that dynamic routing reaches over two paths: the
two are told apart by links travelled, then by time.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from analysis.phases import seconds
from analysis.tables import as_table
from broker_service.trace import Event

MILLISECOND = 1e6
"""Nanoseconds."""
_WAY = "array<struct<broker:string,hops:bigint,time:bigint,waited:bigint,path:array<string>>>"


def journeys(records: DataFrame) -> DataFrame:
    """One row per variant and publication that any node or client logged.

    Columns: variant, publication; publisher, intended_ns, published_ns, numbers, strings (its content), published (how
    often its client published it; 0 when nobody did); rejected; matching_brokers (how many brokers compared its
    content); arrivals (hops, time, broker, peer; in that order); waits (time, broker, peer, duration); notified
    (client, time, broker, hops; in that order).
    """
    event, published = F.col("event"), F.col("event") == Event.PUBLISH
    concerned = [Event.PUBLISH, Event.RECEIVED, Event.SENT, Event.MATCHED, Event.NOTIFIED, Event.REJECTED]
    wait = F.struct("time", F.col("node").alias("broker"), "peer", "duration")
    arrival = F.struct("hops", "time", F.col("node").alias("broker"), "peer")
    notified = F.struct("client", "time", F.col("peer").alias("broker"), "hops")
    of_publication = (F.coalesce("kind", F.lit("publish")) == "publish") & F.col("id").isNotNull()
    return (
        records.where(event.isin(concerned) & of_publication)
        .groupBy("variant", F.col("id").alias("publication"))
        .agg(
            _first("client", published).alias("publisher"),
            _first("intended", published).alias("intended_ns"),
            _first("time", published).alias("published_ns"),
            F.coalesce(_first("numbers", published), F.expr("cast(map() as map<string, double>)")).alias("numbers"),
            F.coalesce(_first("strings", published), F.expr("cast(map() as map<string, string>)")).alias("strings"),
            F.count(F.when(published, 1)).alias("published"),
            (F.count(F.when(event == Event.REJECTED, 1)) > 0).alias("rejected"),
            F.size(F.collect_set(F.when(event == Event.MATCHED, F.col("node")))).alias("matching_brokers"),
            F.sort_array(F.collect_list(F.when(event == Event.RECEIVED, arrival))).alias("arrivals"),
            F.collect_list(F.when(event == Event.SENT, wait)).alias("waits"),
            F.sort_array(F.collect_list(F.when(event == Event.NOTIFIED, notified))).alias("notified"),
        )
    )


def _first(column: str, condition: Column) -> Column:
    return F.first(F.when(condition, F.col(column)), ignorenulls=True)


def notifications(journeys: DataFrame) -> DataFrame:
    """The table `notifications`, from `journeys` (with variant times)."""
    earlier = (
        Window.partitionBy("variant", "publisher", "client")
        .orderBy("notified_ns", "published_ns")
        .rowsBetween(Window.unboundedPreceding, -1)
    )
    return (
        journeys.where(F.size("notified") > 0)
        .withColumn("reached", F.explode(_once(_ways(), _reached)))
        .select(
            "variant",
            "publication",
            F.col("reached.one.client").alias("client"),
            "publisher",
            F.col("reached.one.broker").alias("broker"),
            "intended_ns",
            "published_ns",
            F.col("reached.one.time").alias("notified_ns"),
            ((F.col("reached.one.time") - F.col("intended_ns")) / MILLISECOND).alias("delay_ms"),
            F.coalesce("reached.one.hops", "reached.way.hops").alias("hops"),
            (F.col("reached.way.waited") / MILLISECOND).alias("queueing_ms"),
            F.col("reached.way.path").alias("path"),
            F.col("reached.repeat").alias("repeat"),
            seconds("intended_ns").alias("second"),
        )
        .withColumn("overtaken", F.coalesce(F.max("published_ns").over(earlier) > F.col("published_ns"), F.lit(False)))
        .transform(as_table("notifications"))
    )


def _ways() -> Column:
    """The way to each arrival, in the order of links travelled."""

    def extend(ways: Column, arrival: Column) -> Column:
        way = F.when(arrival.peer.isNull(), _beginning(arrival)).otherwise(_continuation(ways, arrival))
        return F.concat(ways, F.array(way))

    return F.aggregate("arrivals", F.array().cast(_WAY), extend)


def _beginning(arrival: Column) -> Column:
    """The publisher's own broker."""
    waited = F.lit(0).cast("long").alias("waited")
    return F.struct(arrival.broker, arrival.hops, arrival.time, waited, F.array(arrival.broker).alias("path"))


def _continuation(ways: Column, arrival: Column) -> Column:
    """From the neighbour: the last time it sent the publication here, and the last arrival there before that."""

    def sent_as(wait: Column) -> Column:
        return (wait.broker == arrival.peer) & (wait.peer == arrival.broker) & (wait.time <= arrival.time)

    def after(sent: Column) -> Column:
        before = F.filter(
            ways,
            lambda way: (way.broker == arrival.peer) & (way.hops == arrival.hops - 1) & (way.time <= sent.time),
        )
        return _once(F.try_element_at(before, F.lit(-1)), lambda way: beyond(way, sent))

    def beyond(way: Column, sent: Column) -> Column:
        waited = (way.waited + sent.duration).alias("waited")
        path = F.concat(way.path, F.array(arrival.broker)).alias("path")
        return F.struct(arrival.broker, arrival.hops, arrival.time, waited, path)

    return _once(F.array_max(F.filter("waits", sent_as)), after)


def _reached(ways: Column) -> Column:
    """Each notification with the last arrival at the client's broker before it, over as many links as it says."""

    def fits(way: Column, notified: Column) -> Column:
        same_hops = notified.hops.isNull() | (way.hops == notified.hops)
        return (way.broker == notified.broker) & same_hops & (way.time <= notified.time)

    def with_way(notified: Column, index: Column) -> Column:
        way = F.try_element_at(F.filter(ways, lambda way: fits(way, notified)), F.lit(-1))
        first = F.array_position("notified.client", notified.client)  # counts from 1; a client's stand side by side
        return F.struct(notified.alias("one"), (index + 1 - first).alias("repeat"), way.alias("way"))

    return F.transform("notified", with_way)


def _once(value: Column, body: Callable[[Column], Column]) -> Column:
    """`body(value)` with the value computed once; Spark would compute it wherever the body mentions it."""
    return F.element_at(F.transform(F.array(value), body), 1)
