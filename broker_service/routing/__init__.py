"""Routing protocols: the interface, what protocols share, and one package a system."""

from broker_service.routing.registry import PROTOCOLS, found_protocol, protocol_named, read_options

__all__ = ["PROTOCOLS", "found_protocol", "protocol_named", "read_options"]
