"""Headers of the messages about composite subscriptions that are routed as units."""

from __future__ import annotations

import msgspec

from broker_service.messages import ClientId
from broker_service.routing.common.decoding import header_decoder
from broker_service.routing.common.identifiers import Home
from broker_service.routing.tid.placement.exchange import ExchangeMessage
from broker_service.routing.tid.routes import TreeId


class ComposeHeader(msgspec.Struct, frozen=True, array_like=True):
    client: ClientId
    name: str
    """The client's own name for the composite subscription."""
    epoch: int
    """Grows each time the home routes the unit anew."""
    path: tuple[Home, ...]
    """The brokers that the unit has been at, its home first, the sender last, each with its incarnation."""
    parts: tuple[tuple[tuple[TreeId, float], ...], ...]
    """For each part the trees that it is bound to, each with its matches a second."""


class DetectionHeader(msgspec.Struct, frozen=True, array_like=True):
    epoch: int
    publications: tuple[str, ...]
    """Identifiers in the order of publishing; the body has the contents."""


class UnitWithdrawn(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """A unit ends that came from the sender."""

    unit: str
    epoch: int


class UnitPlaced(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """A unit has found its join point."""

    unit: str
    epoch: int
    path: tuple[Home, ...]
    """The brokers from the home to the join point."""


PlacementMessage = UnitWithdrawn | UnitPlaced | ExchangeMessage
"""Headers of control messages."""

decode_compose = header_decoder(ComposeHeader)
decode_detection = header_decoder(DetectionHeader)
