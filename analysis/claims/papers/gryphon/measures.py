"""Measures of the claims of the Gryphon paper, by the names that recipes use."""

from __future__ import annotations

from collections.abc import Mapping

from analysis.claims.measure import Measure
from analysis.claims.papers.gryphon import broker_load, failover, guarantee, start_latency

MEASURES: Mapping[str, Measure] = {
    "delivery guarantee": guarantee.guarantee,
    "equal sequences": guarantee.equal_sequences,
    "load of publisher brokers": broker_load.publisher_brokers,
    "load of the subscriber broker": broker_load.subscriber_broker,
    "growth of publisher brokers' load": broker_load.growth,
    "load by leaves": broker_load.by_leaves,
    "load in crashes": failover.load,
    "rates of groups": failover.rates,
    "late starts": failover.late_starts,
    "latencies": start_latency.latencies,
    "latency ratios": start_latency.ratios,
    "latency growth": start_latency.growth,
}
