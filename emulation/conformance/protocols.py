"""The protocols by the names that conformance cases use: a routing protocol together with its options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ConformanceProtocol:
    """What one column of the conformance table runs."""

    name: str
    protocol: str
    """A key of `broker_service.routing.registry.PROTOCOLS`."""
    options: Mapping[str, object] = field(default_factory=dict)
    """As in the scenario's `routing` section."""
    composite: bool = False
    """Whether it knows composite subscriptions."""


PROTOCOLS: Mapping[str, ConformanceProtocol] = {
    each.name: each
    for each in (
        ConformanceProtocol("tid-fixed", "tid", {"publications": "fixed"}),
        ConformanceProtocol("tid-dynamic", "tid", {"publications": "dynamic"}),
    )
}
