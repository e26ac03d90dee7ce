"""Declaration of TID-based routing."""

from __future__ import annotations

from broker_service.routing.declaration import ConformanceRow, Protocol
from broker_service.routing.tid.options import TidOptions
from broker_service.routing.tid.router import TidRouter

_RECONCILE = {"reconcile_after": 1.0}
"""Seconds. Less than scenarios use, so that cases need not wait long for what depends on it."""
_UNITS = {**_RECONCILE, "statistics_interval": 0.5, "placement_interval": 1.0}
"""Times in seconds for composite subscriptions that are routed as units; less than scenarios use, too."""

PROTOCOL = Protocol(
    TidRouter,
    TidOptions,
    conformance=(
        ConformanceRow("tid-fixed", {"publications": "fixed", **_RECONCILE}),
        ConformanceRow("tid-dynamic", {"publications": "dynamic", **_RECONCILE}),
        ConformanceRow("tid-topology", {"publications": "fixed", "composites": "topology", **_UNITS}),
        ConformanceRow("tid-dcsr", {"publications": "dynamic", "composites": "dcsr", **_UNITS}),
    ),
)
