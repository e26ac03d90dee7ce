"""Declaration of content-based forwarding on one tree."""

from __future__ import annotations

from broker_service.routing.cbf.options import CbfOptions
from broker_service.routing.cbf.router import CbfRouter
from broker_service.routing.declaration import ConformanceRow, Protocol

_RECONCILE = {"reconcile_after": 1.0}
"""Seconds. Less than scenarios use, so that cases need not wait long for what depends on it."""

PROTOCOL = Protocol(
    CbfRouter,
    CbfOptions,
    conformance=(
        ConformanceRow("cbf", _RECONCILE),
        ConformanceRow(
            "cbf-aggregating",
            {"advertisements": True, "aggregation": "covering", "announce_after": 0.05, **_RECONCILE},
        ),
    ),
)
