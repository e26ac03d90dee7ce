"""Declaration of MEDYM."""

from __future__ import annotations

from broker_service.routing.declaration import ConformanceRow, Protocol
from broker_service.routing.medym.options import MedymOptions
from broker_service.routing.medym.router import MedymRouter

_SMALL = {
    "candidates": 2,
    "overload_threshold": 1.2,
    "announce_every": 0.05,
    "pass_on_every": 0.01,
    "fan_out": 2,
    "status_every": 0.05,
}
"""Choices and times that show in cases with few brokers."""

PROTOCOL = Protocol(
    MedymRouter,
    MedymOptions,
    full_mesh=True,
    conformance=(
        *(
            ConformanceRow(f"medym-{algorithm}", {"algorithm": algorithm, **_SMALL})
            for algorithm in ("mst", "close", "balanced", "source")
        ),
        ConformanceRow("medym-advertised", {"subscriptions": "advertised", **_SMALL}),
    ),
)
