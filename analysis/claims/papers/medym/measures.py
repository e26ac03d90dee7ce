"""Measures of the claims of the MEDYM paper, by the names that recipes use."""

from __future__ import annotations

from collections.abc import Mapping

from analysis.claims.measure import Measure
from analysis.claims.papers.medym import (
    bandwidth,
    delay_penalty,
    destination_lists,
    matching_work,
    network_claims,
    node_stress,
    reliability,
    replication,
    routing_functions,
)

MEASURES: Mapping[str, Measure] = {
    "dynamic multicast invariants": destination_lists.invariants,
    "decision times": routing_functions.decision_times,
    "tree quality": routing_functions.tree_quality,
    "node stress": node_stress.node_stress,
    "node stress balance": node_stress.balance,
    "matching work": matching_work.matching_work,
    "link stress": network_claims.link_stress,
    "replication": replication.replication,
    "normalized resource usage": network_claims.normalized_resource_usage,
    "destination list sizes": destination_lists.list_sizes,
    "bandwidth crossings": bandwidth.crossings,
    "lost deliveries": reliability.lost,
    "bandwidth exponents": bandwidth.exponents,
    "path growth": bandwidth.path_growth,
    "share below direct latency": delay_penalty.share_below_direct,
    "locations": delay_penalty.locations,
}
