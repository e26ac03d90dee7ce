"""What the manifest says of a variant from its beginning on: its settings, and what its routing promises."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from broker_service.links.session import MISSED_HEARTBEATS
from broker_service.routing.registry import keeps_order, reconciles_within
from emulation.scenario import Scenario
from record.manifest import VariantRecord


def new_variant(name: str, settings: Mapping[str, Any], scenario: Scenario) -> VariantRecord:
    """The record of a variant that begins."""
    routing, limits = scenario.routing, scenario.brokers.limits
    detected = MISSED_HEARTBEATS * limits.heartbeat
    return VariantRecord(
        name=name,
        settings=dict(settings),
        time_dilation=scenario.time_dilation,
        keeps_order=keeps_order(routing.protocol, routing.options),
        recovery=detected + limits.reconnect_last + reconciles_within(routing.protocol, routing.options),
    )
