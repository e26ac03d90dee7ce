"""The routing protocols by the names that scenarios use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from broker_service.routing.interface import Router, RouterContext
from broker_service.routing.octopia import OctopiaOptions, OctopiaRouter
from broker_service.routing.options import ProtocolOptions
from broker_service.routing.tid import TidOptions, TidRouter


@dataclass(frozen=True, slots=True)
class Protocol:
    """A routing protocol: its router, and the struct that its options must fit."""

    router: Callable[[RouterContext[Any]], Router]
    options: type[ProtocolOptions]


PROTOCOLS: Mapping[str, Protocol] = {
    "tid": Protocol(TidRouter, TidOptions),
    "octopia": Protocol(OctopiaRouter, OctopiaOptions),
}


def protocol_named(name: str) -> Protocol:
    """The protocol of a name. Raises `ValueError` when there is none."""
    protocol = PROTOCOLS.get(name)
    if protocol is None:
        raise ValueError(f"unknown routing protocol {name!r}; known: {', '.join(PROTOCOLS)}")
    return protocol


def read_options(name: str, options: Mapping[str, Any]) -> ProtocolOptions:
    """A protocol's options, with defaults for those not given. Raises `ValueError` that names an option unfit."""
    return msgspec.convert(dict(options), protocol_named(name).options)
