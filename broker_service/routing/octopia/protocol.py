"""Declaration of OctopiA."""

from __future__ import annotations

from broker_service.routing.declaration import ConformanceRow, Protocol
from broker_service.routing.octopia.options import OctopiaOptions
from broker_service.routing.octopia.router import OctopiaRouter

_RECONCILE = {"reconcile_after": 1.0}
"""Seconds. Less than scenarios use, so that cases need not wait long for what depends on it."""

PROTOCOL = Protocol(
    OctopiaRouter,
    OctopiaOptions,
    conformance=(
        ConformanceRow("octopia-spr", {"publications": "static", **_RECONCILE}),
        ConformanceRow("octopia-idr", {"publications": "inter-cluster-dynamic", **_RECONCILE}),
        ConformanceRow(
            "octopia-beyond",
            {
                "publications": "inter-cluster-dynamic",
                "intra_cluster_dynamic": True,
                "off_tree_links": True,
                "round_dead_brokers": True,
                **_RECONCILE,
            },
        ),
    ),
)
