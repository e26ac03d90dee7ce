"""The protocols by the names that conformance cases use: a routing protocol together with its options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from broker_service.routing import read_options
from record.promises import Promises


@dataclass(frozen=True, slots=True)
class ConformanceProtocol:
    """One column of the conformance table."""

    name: str
    protocol: str
    """A key of `broker_service.routing.registry.PROTOCOLS`."""
    options: Mapping[str, object] = field(default_factory=dict)
    """Options of the protocol, written as in the scenario's `routing` section."""
    structure: tuple[str, ...] = ()
    """Attributes that brokers must have besides those of the protocol's options, because the protocol does without them
    on some overlays only."""
    full_mesh: bool = False
    """True when cases run on the full mesh of their brokers, because the protocol needs a link between any two."""

    def with_options(self, options: Mapping[str, object]) -> ConformanceProtocol:
        """The row with these options in place of its own."""
        return replace(self, options={**self.options, **options})

    @property
    def neighbours_change(self) -> bool:
        """True when its brokers may get and lose neighbours."""
        return read_options(self.protocol, self.options).neighbours_change

    @property
    def promises(self) -> Promises:
        """The promises of the protocol with these options."""
        return read_options(self.protocol, self.options).promises

    @property
    def attributes_needed(self) -> tuple[str, ...]:
        """Attributes that every broker of the overlay must have."""
        return (*read_options(self.protocol, self.options).attributes, *self.structure)


_RECONCILE_AFTER = 1.0
"""Seconds. Less than scenarios use, so that cases need not wait long for what depends on it."""
_UNITS = {"reconcile_after": _RECONCILE_AFTER, "statistics_interval": 0.5, "placement_interval": 1.0}
"""Times in seconds for composite subscriptions that are routed as units; less than scenarios use, too."""
_MEDYM = {
    "candidates": 2,
    "overload_threshold": 1.2,
    "announce_every": 0.05,
    "pass_on_every": 0.01,
    "fan_out": 2,
    "status_every": 0.05,
}
"""Choices and times that show in cases with few brokers."""

PROTOCOLS: Mapping[str, ConformanceProtocol] = {
    protocol.name: protocol
    for protocol in (
        ConformanceProtocol("tid-fixed", "tid", {"publications": "fixed", "reconcile_after": _RECONCILE_AFTER}),
        ConformanceProtocol("tid-dynamic", "tid", {"publications": "dynamic", "reconcile_after": _RECONCILE_AFTER}),
        ConformanceProtocol("tid-topology", "tid", {"publications": "fixed", "composites": "topology", **_UNITS}),
        ConformanceProtocol("tid-dcsr", "tid", {"publications": "dynamic", "composites": "dcsr", **_UNITS}),
        ConformanceProtocol("octopia-spr", "octopia", {"publications": "static", "reconcile_after": _RECONCILE_AFTER}),
        ConformanceProtocol(
            "octopia-idr", "octopia", {"publications": "inter-cluster-dynamic", "reconcile_after": _RECONCILE_AFTER}
        ),
        ConformanceProtocol("cbf", "cbf", {"reconcile_after": _RECONCILE_AFTER}),
        ConformanceProtocol(
            "cbf-aggregating",
            "cbf",
            {
                "advertisements": True,
                "aggregation": "covering",
                "announce_after": 0.05,
                "reconcile_after": _RECONCILE_AFTER,
            },
        ),
        ConformanceProtocol("gryphon", "gryphon", structure=("node",)),
        ConformanceProtocol("channelization", "channelization", {"channels": 3}, full_mesh=True),
        ConformanceProtocol("semi-probabilistic", "semi-probabilistic", {"horizon": 2, "threshold": 1.0}),
        ConformanceProtocol(
            "octopia-beyond",
            "octopia",
            {
                "publications": "inter-cluster-dynamic",
                "intra_cluster_dynamic": True,
                "off_tree_links": True,
                "round_dead_brokers": True,
                "reconcile_after": _RECONCILE_AFTER,
            },
        ),
        *(
            ConformanceProtocol(f"medym-{algorithm}", "medym", {"algorithm": algorithm, **_MEDYM}, full_mesh=True)
            for algorithm in ("mst", "close", "balanced", "source")
        ),
        ConformanceProtocol("medym-advertised", "medym", {"subscriptions": "advertised", **_MEDYM}, full_mesh=True),
    )
}
