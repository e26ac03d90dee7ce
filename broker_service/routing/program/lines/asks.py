"""Asks and tells: questions of a program, the broker's replies to them, and statements that need none."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from broker_service.routing.program.lines.contents import LeavingMessage, PredicatesLine


class Ask(msgspec.Struct, tag_field="for", forbid_unknown_fields=True, omit_defaults=True):
    """A question of the program, which the broker answers with one line."""


class MatchAsk(Ask, tag="match"):
    """Keys of the index that a message's publication matches; the comparison is logged. Answer: `keys`."""

    message: int = 0
    """Number of the message in this call."""
    matcher: int = 0
    """Number of the index; there are as many as are named."""


class NeighboursAsk(Ask, tag="neighbours"):
    """The present neighbours. Answer: `neighbours`."""


class LinkAsk(Ask, tag="link"):
    """The status of the link to a neighbour. Answer: `link`."""

    neighbour: str
    interval: float = 0.0
    """Seconds over which `flow` counts; 0: no flow is wanted."""


class RandomAsk(Ask, tag="random"):
    """Random numbers of the broker's own stream, between 0 and 1. Answer: `numbers`."""

    count: int = 1


class RandomBitsAsk(Ask, tag="random_bits"):
    """A random integer of so many bits. Answer: `bits`, a string of digits."""

    bits: int


class StoredAsk(Ask, tag="stored"):
    """A value in stable storage. Answer: `value`."""

    key: str


class ServiceAsk(Ask, tag="service"):
    """The broker's work so far. Answer: `service`, three strings of digits: messages, waited, occupied."""


class LatestIncarnationAsk(Ask, tag="latest_incarnation"):
    """The largest incarnation that a broker can have. Answer: `incarnation`, or nothing where it is not known."""

    broker: str


class RoomAsk(Ask, tag="room"):
    """Room for a control message that declares something.

    Answer: nothing when there is room, `no_room` with the reason when there is none, and `sizes` when the broker wants
    the question again with `declared`, the sizes that `Router.declared` lists.
    """

    size: int
    declared: list[int] | UnsetType = UNSET


AnyAsk = (
    MatchAsk
    | NeighboursAsk
    | LinkAsk
    | RandomAsk
    | RandomBitsAsk
    | StoredAsk
    | ServiceAsk
    | LatestIncarnationAsk
    | RoomAsk
)


class LinkLine(msgspec.Struct, omit_defaults=True):
    """The status of a link: `LinkStatus`."""

    attributes: dict[str, Any]
    up: bool
    queue_length: int
    sent: int
    waited: str
    round_trip: float | None = None
    utilisation: float | None = None
    """The rate in over the rate out; left out when infinite."""
    flow: tuple[int, int] | None = None


class Reply(msgspec.Struct, omit_defaults=True):
    """The broker's answer to an ask."""

    keys: list[str] | UnsetType = UNSET
    neighbours: list[str] | UnsetType = UNSET
    link: LinkLine | UnsetType = UNSET
    numbers: list[float] | UnsetType = UNSET
    bits: str | UnsetType = UNSET
    value: bytes | UnsetType = UNSET
    service: tuple[str, str, str] | UnsetType = UNSET
    incarnation: int | UnsetType = UNSET
    no_room: str | UnsetType = UNSET
    sizes: bool | UnsetType = UNSET


class Tell(msgspec.Struct, tag_field="of", forbid_unknown_fields=True, omit_defaults=True):
    """A statement of the program, which the broker does not answer."""


class IndexTell(Tell, tag="index"):
    """Puts a subscription into an index under a key that is not in it."""

    key: str
    predicates: PredicatesLine
    matcher: int = 0


class UnindexTell(Tell, tag="unindex"):
    """Removes a key from an index."""

    key: str
    matcher: int = 0


class MatchedTell(Tell, tag="matched"):
    """A comparison that the program has made itself, for the log."""

    id: str
    matches: int


class DroppedTell(Tell, tag="dropped"):
    """Counterpart of `RouterContext.report_dropped`."""

    message: LeavingMessage
    reason: str


AnyTell = IndexTell | UnindexTell | MatchedTell | DroppedTell
