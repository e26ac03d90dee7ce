"""Options of OctopiA."""

from __future__ import annotations

from typing import ClassVar, Literal

from broker_service.routing.options import ProtocolOptions
from record.promises import Order, Promises


class OctopiaOptions(ProtocolOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The scenario's `routing` section for this protocol."""

    times: ClassVar = ("reconcile_after", "status_interval")
    attributes: ClassVar = ("region", "cluster")

    publications: Literal["static", "inter-cluster-dynamic"] = "static"
    """SPR (Algorithm 3) or IDR (Algorithm 4)."""
    congestion_threshold: float = 10.0
    """tau of Eq. 3: above it a link is overloaded (section 10)."""
    status_interval: float = 0.05
    """t_w of Eq. 3, in seconds."""
    intra_cluster_dynamic: bool = False
    """Beyond the paper: publications take a detour round an overloaded aLink, through another cluster."""
    off_tree_links: bool = False
    """Beyond the paper: remaining clusters may be passed to a primary neighbour without subscribers behind it."""
    round_dead_brokers: bool = False
    """Beyond the paper: links that are down are avoided, and publications take a detour round failed brokers."""
    reconcile_after: float = 5.0
    """Seconds that a restarted neighbour has to announce again the state that came through it."""

    def __post_init__(self) -> None:
        for name in ("status_interval", "reconcile_after"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be more than 0 seconds")
        if self.congestion_threshold < 0:
            raise ValueError("congestion_threshold must be at least 0")
        if self.publications == "static":
            for name in ("intra_cluster_dynamic", "off_tree_links", "round_dead_brokers"):
                if getattr(self, name):
                    raise ValueError(f"{name} needs publications: inter-cluster-dynamic")

    @property
    def promises(self) -> Promises:
        """One path into each cluster and one tree in it keep order; dynamic routing changes paths at any time."""
        return Promises(order=Order.ADVERTISEMENT if self.publications == "static" else Order.NONE)

    @property
    def follows_load(self) -> bool:
        return self.publications != "static"

    @property
    def reconciles_within(self) -> float:
        return self.reconcile_after
