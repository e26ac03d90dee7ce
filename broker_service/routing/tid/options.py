"""What a scenario may choose about TID-based routing."""

from __future__ import annotations

from typing import ClassVar, Literal

from broker_service.routing.options import ProtocolOptions


class TidOptions(ProtocolOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The scenario's `routing` section for this protocol."""

    times: ClassVar = ("reconcile_after", "status_interval")

    publications: Literal["fixed", "dynamic"] = "fixed"
    load: Literal["utilisation", "congestion"] = "utilisation"
    """What dynamic routing compares links by: the paper's utilisation, or Eq. 3 of OctopiA (`congestion`)."""
    utilisation_margin: float = 0.1
    """Links whose utilisation differs by less count as equally loaded."""
    congestion_threshold: float = 10.0
    """tau of Eq. 3: links below it all count as not loaded."""
    status_interval: float = 0.05
    """t_w of Eq. 3, in seconds."""
    reconcile_after: float = 5.0
    """Seconds a restarted neighbour has to say again what came through it."""

    def __post_init__(self) -> None:
        for name in ("utilisation_margin", "status_interval"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be more than 0")
        if self.congestion_threshold < 0:
            raise ValueError("congestion_threshold must be at least 0")

    @property
    def keeps_order(self) -> bool:
        """One tree is one path to each subscriber, and links keep order; dynamic routing changes paths at any time."""
        return self.publications == "fixed"

    @property
    def reconciles_within(self) -> float:
        return self.reconcile_after
