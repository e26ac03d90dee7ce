"""From log records to every table: which step feeds which, and what is kept in memory because several need it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from analysis import traffic
from analysis.delays import delay_distribution, delays_by_hops, delays_over_time
from analysis.journeys import journeys, notifications
from analysis.oracle import expected, lifetimes, with_entitlement
from analysis.phases import phase_table, variant_times
from analysis.run_directory import RunDirectory

Planned = Callable[[str, DataFrame], object]
"""Is given each table's name and frame as soon as it is planned."""


@dataclass(frozen=True)
class Tables:
    """The tables of a run, not yet computed, and the intermediate frames that the summary reads as well."""

    by_name: Mapping[str, DataFrame]
    journeys: DataFrame
    """With the variant times and the entitlement of each publication."""
    lifetimes: DataFrame
    """Of subscriptions and advertisements together."""

    def __getitem__(self, name: str) -> DataFrame:
        return self.by_name[name]


def build_tables(session: SparkSession, run: RunDirectory, records: DataFrame, planned: Planned) -> Tables:
    """Plans every table of `analysis.tables.TABLES`, from the records of a run's logs.

    Planning is a good part of the work on a short log, so each table is handed over at once and not with the last.
    """
    by_name: dict[str, DataFrame] = {}

    def plan(name: str, table: DataFrame) -> DataFrame:
        by_name[name] = table
        planned(name, table)
        return table

    times = variant_times(session, run.manifest.variants)
    lives = lifetimes(records, run.brokers).cache()
    ways = journeys(records).join(F.broadcast(times), "variant").transform(with_entitlement(lives)).cache()
    notified = plan("notifications", notifications(ways).cache())
    plan("expected", expected(ways, lives).cache())
    moved = traffic.activity(records).cache()
    plan("messages", traffic.messages(moved))
    plan("links", traffic.links(moved))
    plan("matching", traffic.matching(moved))
    plan("drops", traffic.drops(moved, run.brokers))
    plan("queues", traffic.queues(records, times))
    plan("delays", delays_over_time(notified))
    plan("distribution", delay_distribution(notified))
    plan("hops", delays_by_hops(notified))
    plan("phases", phase_table(session, run.manifest.variants))
    return Tables(by_name, ways, lives)
