"""Routing protocols: the interface, and one module a protocol."""

from broker_service.routing.registry import PROTOCOLS, check_options, make_router, status_interval

__all__ = ["PROTOCOLS", "check_options", "make_router", "status_interval"]
