"""Content-based forwarding on one tree, as Siena does it and as MEDYM compares itself with (MEDYM, section 2.1)."""

from broker_service.routing.cbf.options import CbfOptions
from broker_service.routing.cbf.router import CbfRouter

__all__ = ["CbfOptions", "CbfRouter"]
