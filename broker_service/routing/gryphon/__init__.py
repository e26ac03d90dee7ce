"""Gryphon: subscriptions propagated with virtual-time vectors over redundant nodes (Zhao, Sturman, Bhola, 2004)."""

from broker_service.routing.gryphon.options import GryphonOptions
from broker_service.routing.gryphon.router import GryphonRouter

__all__ = ["GryphonOptions", "GryphonRouter"]
