"""Headers of the messages about composite subscriptions that are routed as units."""

from __future__ import annotations

from typing import Annotated

import msgspec

from broker_service.language.composite_subscription import MAX_PARTS
from broker_service.messages import BrokerId, Kind, Message
from broker_service.routing.common.bounds import MOST_BROKERS, MOST_TREES, BrokerName, Name
from broker_service.routing.common.decoding import encode_header, header_decoder
from broker_service.routing.common.identifiers import Home
from broker_service.routing.interface import Send
from broker_service.routing.tid.placement.confirmation import BindingAsked, BindingConfirmed
from broker_service.routing.tid.placement.exchange import ExchangeMessage

TreeRate = tuple[Name, float]
"""A tree that a part is bound to, and the part's matches a second in its publications."""
PartRates = Annotated[
    tuple[Annotated[tuple[TreeRate, ...], msgspec.Meta(max_length=MOST_TREES)], ...], msgspec.Meta(max_length=MAX_PARTS)
]
"""The trees of each part."""
HomePath = Annotated[tuple[Home, ...], msgspec.Meta(max_length=MOST_BROKERS)]
"""Brokers, each with its incarnation."""


class ComposeHeader(msgspec.Struct, frozen=True, array_like=True):
    client: Name
    name: Name
    """The client's own name for the composite subscription."""
    epoch: int
    """Grows each time the home routes the unit anew."""
    move: int
    """Grows within an epoch each time a join point passes the unit on."""
    former_place: BrokerName | None
    """The join point that has passed the unit on; None for a unit that comes from its home."""
    path: HomePath
    """The brokers that the unit has been at, its home first, the sender last, each with its incarnation."""
    parts: PartRates


class DetectionHeader(msgspec.Struct, frozen=True, array_like=True):
    epoch: int
    publications: Annotated[tuple[Name, ...], msgspec.Meta(max_length=MAX_PARTS)]
    """Identifiers in the order of publishing; the body has the contents."""


class ContributionHeader(DetectionHeader, frozen=True, array_like=True):
    """Header of publications that a sub-unit passes on: of a set that it has detected, those not sent before."""

    stamps: Annotated[tuple[int, ...], msgspec.Meta(max_length=MAX_PARTS)]
    """Times at which the publications were published, in nanoseconds."""


class UnitWithdrawn(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """A unit ends that came from the sender."""

    unit: Name
    epoch: int


class UnitPlaced(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """A unit has a join point, to which the trees that it needs are confirmed or not yet."""

    unit: Name
    epoch: int
    move: int
    path: HomePath
    """The brokers from the home to the join point."""
    confirmed: Annotated[tuple[Name, ...], msgspec.Meta(max_length=MOST_TREES)] | None = None
    """All trees that the join point knows, once each is confirmed; None before."""


class UnitReturned(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """The sender has been the join point of a unit that came from the receiver, which is the join point now."""

    unit: Name
    epoch: int
    move: int
    parts: PartRates


class UnitLeft(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """The sender has returned a unit, and sends no further detections of it."""

    unit: Name
    epoch: int


UnitNews = UnitWithdrawn | UnitPlaced | UnitReturned | UnitLeft
PlacementMessage = UnitNews | BindingAsked | BindingConfirmed | ExchangeMessage
"""Headers of control messages."""


def to(neighbour: BrokerId, message: UnitNews) -> Send:
    """A control message about a unit."""
    return Send(neighbour, Message(Kind.CONTROL, message.unit, b"", encode_header(message)))


decode_compose = header_decoder(ComposeHeader)
decode_detection = header_decoder(DetectionHeader)
decode_contribution = header_decoder(ContributionHeader)
