"""Options of TID-based routing."""

from __future__ import annotations

from typing import ClassVar, Literal

from broker_service.routing.options import ProtocolOptions
from record.handover import CHOSEN_BY_THE_FIRST_BROKER, MoveCosts
from record.promises import Order, Promises


class TidOptions(ProtocolOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The scenario's `routing` section for this protocol."""

    times: ClassVar = ("reconcile_after", "status_interval", "statistics_interval", "placement_interval")

    publications: Literal["fixed", "dynamic"] = "fixed"
    load: Literal["utilisation", "congestion"] = "utilisation"
    """Measure by which dynamic routing compares links: the paper's utilisation, or Eq. 3 of OctopiA (`congestion`)."""
    utilisation_margin: float = 0.1
    """Two links count as equally loaded when their utilisations differ by less than this."""
    congestion_threshold: float = 10.0
    """tau of Eq. 3: all links below it count as not loaded."""
    status_interval: float = 0.05
    """t_w of Eq. 3, in seconds."""
    reconcile_after: float = 5.0
    """Seconds that a restarted neighbour has to announce again the state that came through it."""

    composites: Literal["simple", "topology", "dcsr"] = "simple"
    """Routing of composite subscriptions (section 4): split at the subscriber's broker, where the sources' directions
    differ first, or at the broker that DCSR finds cheapest."""
    statistics_interval: float = 5.0
    """Seconds between descriptions of publications for DCSR, and between reports of brokers' times."""

    placement_interval: float = 10.0
    """Seconds after which a broker that detects a unit looks for a better place to detect it; 0: it never does."""
    placement_margin: float = 0.1
    """Share of the present cost that a move has to save. Below 0, units move at a loss, too, which tests need."""

    def __post_init__(self) -> None:
        for name in ("utilisation_margin", "status_interval", "statistics_interval"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be more than 0")
        for name in ("congestion_threshold", "placement_interval"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must be at least 0")

    @property
    def promises(self) -> Promises:
        """One tree is one path to each subscriber, and links keep order; dynamic routing changes paths at any time."""
        return Promises(order=Order.ADVERTISEMENT if self.publications == "fixed" else Order.NONE)

    @property
    def moves(self) -> MoveCosts:
        """A publication carries the subscriptions whose trees it travels on from its first broker."""
        return CHOSEN_BY_THE_FIRST_BROKER

    @property
    def follows_load(self) -> bool:
        return self.publications == "dynamic" or self.composites == "dcsr"

    @property
    def reconciles_within(self) -> float:
        return self.reconcile_after
