"""Measures of the claims of the paper on semi-probabilistic routing, by the names that recipes use."""

from __future__ import annotations

from collections.abc import Mapping

from analysis.claims.measure import Measure
from analysis.claims.papers.semi_probabilistic import mobility, rewiring, routes, static_overlays

MEASURES: Mapping[str, Measure] = {
    "delivery by horizon": static_overlays.delivery_by_horizon,
    "delivery at one half": static_overlays.delivery_at_one_half,
    "delivery at degree 9": static_overlays.delivery_at_degree_9,
    "messages by fanout": static_overlays.messages_by_fanout,
    "delivery by threshold": static_overlays.delivery_by_threshold,
    "without limit": static_overlays.without_limit,
    "table sizes": static_overlays.table_sizes,
    "routes": routes.routes,
    "delivery by size": routes.delivery_by_size,
    "fewer than shortest routes": routes.fewer_than_shortest_routes,
    "reconfigured": rewiring.reconfigured,
    "slowly reconfigured": rewiring.slowly_reconfigured,
    "nearest first": rewiring.nearest_first,
    "one limit of hops": rewiring.one_limit,
    "least limit of hops": rewiring.least_limit,
    "two limits of hops": rewiring.two_limits,
    "delivery of two limits": rewiring.delivery_of_two_limits,
    "messages of two limits": rewiring.messages_of_two_limits,
    "steadiness": rewiring.steadiness,
    "density of receivers": rewiring.density,
    "mobile network": mobility.mobile,
    "order in a mobile network": mobility.mobile_order,
    "messages in a mobile network": mobility.mobile_messages,
    "dearest horizon in a mobile network": mobility.dearest,
}
