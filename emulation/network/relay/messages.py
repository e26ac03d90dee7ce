"""The messages between the emulator and its relay: JSON, one message a packet, over a socket pair.

Every request has one reply, in order. The relay ends when the other end of the socket pair is closed or its parent has
ended.
"""

from __future__ import annotations

import msgspec

from topology.link_properties import LinkProperties

MAXIMUM_MESSAGE = 1 << 16


class AddLink(msgspec.Struct, tag=True, frozen=True):
    """Open a TAP in the network namespaces of two processes and join them. Reply: `Done`."""

    index: int
    processes: tuple[int, int]
    interfaces: tuple[str, str]
    properties: tuple[LinkProperties, LinkProperties]
    """From end a to end b, and from b to a."""


class ChangeDirection(msgspec.Struct, tag=True, frozen=True):
    """Give new properties to frames that enter a link at one end (0: a, 1: b). Reply: `Done`."""

    index: int
    side: int
    properties: LinkProperties


class SetUp(msgspec.Struct, tag=True, frozen=True):
    """Let frames into a link at one end (0: a, 1: b), or drop them. Reply: `Done`."""

    index: int
    side: int
    up: bool


class Corrupt(msgspec.Struct, tag=True, frozen=True):
    """Damage a share of the frames that enter a link at one end (0: a, 1: b). Reply: `Done`."""

    index: int
    side: int
    share: float


class AskStatistics(msgspec.Struct, tag=True, frozen=True):
    """Ask for a link's counters. Reply: `LinkCounters`."""

    index: int


class AskPunctuality(msgspec.Struct, tag=True, frozen=True):
    """Ask for the relay's lateness over all links. Reply: `Punctuality`."""


class Punctuality(msgspec.Struct, tag=True, frozen=True):
    """The relay's lateness since it was started."""

    lateness: dict[int, int]
    """Frames of all links together by how late they left, the key in units of `LATENESS_UNIT` nanoseconds, rounded
    down."""
    held_up: int
    """Nanoseconds in which the relay was held up: it got no CPU, or was stopped."""


class DirectionCounters(msgspec.Struct, frozen=True):
    """Counters of one direction of a link since it was made."""

    frames: int
    """Delivered frames."""
    octets: int
    """Delivered bytes."""
    lost: int
    """Frames dropped by the link's loss."""
    queue_full: int
    """Frames dropped by the queue limit."""
    down: int
    """Frames dropped while the link was cut."""
    undeliverable: int
    """Frames that the receiving interface refused because it was down, or above the limit in flight."""
    damaged: int
    """Delivered frames that a fault has damaged."""
    broken: bool
    """True if an interface has vanished while the relay used it."""


class LinkCounters(msgspec.Struct, tag=True, frozen=True):
    """Both directions of a link."""

    directions: tuple[DirectionCounters, DirectionCounters]


class Done(msgspec.Struct, tag=True, frozen=True):
    """The request is carried out."""

    detail: str = ""


class Refused(msgspec.Struct, tag=True, frozen=True):
    """The request cannot be carried out."""

    reason: str


Request = AddLink | ChangeDirection | SetUp | Corrupt | AskStatistics | AskPunctuality
Reply = LinkCounters | Punctuality | Done | Refused

LATENESS_UNIT = 10_000
LATENESS_BUCKETS = 2_000
"""Number of classes of lateness, up to 20 ms; the last one holds everything later."""
