"""Headers of the messages about composite subscriptions that are routed as units."""

from __future__ import annotations

import msgspec

from broker_service.messages import BrokerId, ClientId
from broker_service.routing.common.decoding import header_decoder
from broker_service.routing.common.identifiers import Home
from broker_service.routing.tid.placement.confirmation import BindingAsked, BindingConfirmed
from broker_service.routing.tid.placement.exchange import ExchangeMessage
from broker_service.routing.tid.routes import TreeId

TreeRate = tuple[TreeId, float]
"""A tree that a part is bound to, and the part's matches a second in its publications."""
PartRates = tuple[tuple[TreeRate, ...], ...]
"""The trees of each part."""


class ComposeHeader(msgspec.Struct, frozen=True, array_like=True):
    client: ClientId
    name: str
    """The client's own name for the composite subscription."""
    epoch: int
    """Grows each time the home routes the unit anew."""
    move: int
    """Grows within an epoch each time a join point passes the unit on."""
    former_place: BrokerId | None
    """The join point that has passed the unit on; None for a unit that comes from its home."""
    path: tuple[Home, ...]
    """The brokers that the unit has been at, its home first, the sender last, each with its incarnation."""
    parts: PartRates


class DetectionHeader(msgspec.Struct, frozen=True, array_like=True):
    epoch: int
    publications: tuple[str, ...]
    """Identifiers in the order of publishing; the body has the contents."""


class ContributionHeader(DetectionHeader, frozen=True, array_like=True):
    """Header of publications that a sub-unit passes on: of a set that it has detected, those not sent before."""

    stamps: tuple[int, ...]
    """Their times of publication, in nanoseconds."""


class UnitWithdrawn(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """A unit ends that came from the sender."""

    unit: str
    epoch: int


class UnitPlaced(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """A unit has a join point, to which the trees that it needs are confirmed or not yet."""

    unit: str
    epoch: int
    move: int
    path: tuple[Home, ...]
    """The brokers from the home to the join point."""
    confirmed: tuple[TreeId, ...] | None = None
    """All trees that the join point knows, once each is confirmed; None before."""


class UnitReturned(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """The sender has been the join point of a unit that came from the receiver, which is the join point now."""

    unit: str
    epoch: int
    move: int
    parts: PartRates


class UnitLeft(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """The sender has returned a unit, and sends no further detections of it."""

    unit: str
    epoch: int


UnitNews = UnitWithdrawn | UnitPlaced | UnitReturned | UnitLeft
PlacementMessage = UnitNews | BindingAsked | BindingConfirmed | ExchangeMessage
"""Headers of control messages."""

decode_compose = header_decoder(ComposeHeader)
decode_detection = header_decoder(DetectionHeader)
decode_contribution = header_decoder(ContributionHeader)
