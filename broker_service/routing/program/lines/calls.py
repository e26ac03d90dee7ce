"""Calls: lines by which the broker calls the program, each with the name and the parameters of the router's method."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from broker_service.routing.program.lines.contents import ArrivingMessage, PredicatesLine, StampedLine, UnitLine

VERSION = 1
"""Version of the contract. Fields may be added within a version."""


class Call(msgspec.Struct, omit_defaults=True, tag_field="call", tag=str.lower, kw_only=True):
    """A call of the program."""

    now: float = 0.0
    """Seconds since the broker started."""
    broker: str | UnsetType = UNSET
    """The broker at which the router is called, for programs that are `multiplexed`."""


class Declare(Call, tag="declare"):
    """The first and only call of a process at planning: what the protocol is."""

    contract: int = 0


class PrepareLink(msgspec.Struct, array_like=True):
    """A link between two brokers, with the delays in seconds."""

    a: str
    b: str
    delay: float
    reverse_delay: float


class Prepare(Call, tag="prepare"):
    """A call of a process at planning: what each router finds as `prepared`."""

    options: dict[str, Any]
    brokers: dict[str, dict[str, Any]]
    links: list[PrepareLink]
    advertisements: dict[str, list[PredicatesLine]]
    subscriptions: dict[str, list[PredicatesLine]]
    seed: int


class Init(Call, tag="init", omit_defaults=False):
    """The first call of a router: its surroundings."""

    broker: str
    incarnation: int
    attributes: dict[str, Any]
    neighbours: list[str]
    options: dict[str, Any]
    started_at: str
    prepared: bytes
    stored: list[str]
    """Keys in stable storage."""
    stored_bytes: int
    detection_lateness: float
    contract: int = VERSION


class Advertise(Call, tag="advertise"):
    """Call `Router.advertise`."""

    client: str
    id: str
    advertisement: PredicatesLine


class Unadvertise(Call, tag="unadvertise"):
    """Call `Router.unadvertise`."""

    client: str
    id: str


class Subscribe(Call, tag="subscribe"):
    """Call `Router.subscribe`."""

    client: str
    id: str
    subscription: PredicatesLine


class Unsubscribe(Call, tag="unsubscribe"):
    """Call `Router.unsubscribe`."""

    client: str
    id: str


class Publish(Call, tag="publish"):
    """Call `Router.publish`; the content is in the message."""

    client: str
    message: ArrivingMessage
    advertisement: str


class Receive(Call, tag="receive"):
    """Call `Router.receive`."""

    neighbour: str
    message: ArrivingMessage


class LinkUp(Call, tag="link_up"):
    """Call `Router.link_up`."""

    neighbour: str
    incarnation: int


class LinkDown(Call, tag="link_down"):
    """Call `Router.link_down`."""

    neighbour: str


class Timer(Call, tag="timer"):
    """Call `Router.timer`."""

    key: str


class Index(Call, tag="index"):
    """Call `Router.index`."""


class DeclaredSizes(Call, tag="declared"):
    """Call `Router.declared`."""


class Tables(Call, tag="tables"):
    """Call `Router.tables`."""


class Returned(Call, tag="returned"):
    """Call `RecallsMessages.returned`."""

    neighbour: str
    messages: list[ArrivingMessage]


class NeighbourAdded(Call, tag="neighbour_added"):
    """Call `FollowsNeighbours.neighbour_added`."""

    neighbour: str


class NeighbourRemoved(Call, tag="neighbour_removed"):
    """Call `FollowsNeighbours.neighbour_removed`."""

    neighbour: str


class Buffers(Call, tag="buffers"):
    """Call `KeepsStreams.buffers`."""


class Compose(Call, tag="compose"):
    """Call `RoutesComposites.compose`."""

    unit: UnitLine


class Decompose(Call, tag="decompose"):
    """Call `RoutesComposites.decompose`."""

    unit: str


class Detected(Call, tag="detected"):
    """Call `RoutesComposites.detected`."""

    unit: str
    publications: list[StampedLine]


AnyCall = (
    Declare
    | Prepare
    | Init
    | Advertise
    | Unadvertise
    | Subscribe
    | Unsubscribe
    | Publish
    | Receive
    | LinkUp
    | LinkDown
    | Timer
    | Index
    | DeclaredSizes
    | Tables
    | Returned
    | NeighbourAdded
    | NeighbourRemoved
    | Buffers
    | Compose
    | Decompose
    | Detected
)
