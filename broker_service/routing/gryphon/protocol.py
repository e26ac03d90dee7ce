"""Declaration of Gryphon."""

from __future__ import annotations

from broker_service.routing.declaration import ConformanceRow, Protocol
from broker_service.routing.gryphon.options import GryphonOptions
from broker_service.routing.gryphon.router import GryphonRouter

PROTOCOL = Protocol(GryphonRouter, GryphonOptions, conformance=(ConformanceRow("gryphon", structure=("node",)),))
