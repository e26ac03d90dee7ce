"""Declaration of semi-probabilistic routing."""

from __future__ import annotations

from broker_service.routing.declaration import ConformanceRow, Protocol
from broker_service.routing.semi_probabilistic.late_router import semi_probabilistic_router
from broker_service.routing.semi_probabilistic.options import SemiProbabilisticOptions

PROTOCOL = Protocol(
    semi_probabilistic_router,
    SemiProbabilisticOptions,
    conformance=(ConformanceRow("semi-probabilistic", {"horizon": 2, "threshold": 1.0}),),
)
