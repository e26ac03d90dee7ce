"""Headers of publications, and of the control messages by which streams are made complete. Positions are in streams.

A *stream* is the sequence of publications of one broker's clients; it has the number of that broker's leaf. A message
that is `sideways` comes from a broker of the receiver's node and is for the receiver's own leaf. Between nodes, the
receiver serves everything further down.
"""

from __future__ import annotations

from typing import Final

import msgspec

from broker_service.routing.common.decoding import header_decoder
from broker_service.routing.gryphon.overlay import MOST_HASH
from broker_service.routing.gryphon.streams.ranges import Range
from broker_service.routing.interface import MalformedMessageError

MOST_POSITION = 1 << 62
MOST_RANGES = 256
"""Ranges in one message."""
MOST_ANSWERED = 500
"""Publications sent in answer for one range; the rest is asked for again."""

ALL_BEFORE: Final = -1
"""The number of silent positions where nobody can ask for any position before them."""

Ranges = tuple[Range, ...]


class Stamp(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Header of a publication."""

    stream: int
    position: int
    silent: int
    """Number of positions just before this one that hold nothing for the receiver; `ALL_BEFORE` for all of them."""
    age: int
    """Positions since the publications began to have the vector that this one has. The position at which that was, the
    *digest*, stands for the vector (section 5.1)."""
    sideways: bool = False
    again: bool = False
    """True for a retransmission, which is for those who asked for it."""
    base: int = 0
    """The digest of the vector from which `vector` differs; 0: from the empty one."""
    vector: bytes | None = None
    """The encoded vector; None when the sender has sent this vector over this link before."""
    hash: int = 0
    """The number by which brokers of nodes are chosen (`overlay`)."""

    @property
    def digest(self) -> int:
        return self.position - self.age

    @property
    def silent_from(self) -> int:
        """The first of the positions just before this one that hold nothing for the receiver; this one without any."""
        return 1 if self.silent == ALL_BEFORE else self.position - self.silent


class Head(msgspec.Struct, frozen=True, array_like=True, tag="head"):
    """Announces the end of a stream, so that a receiver notices what it lacks."""

    stream: int
    end: int
    """The next position to be given."""
    silent: int
    """Number of positions just before the end that hold nothing for the receiver."""
    digest: int
    vector: bytes
    first: int
    """Positions before this one are not kept any more."""
    lacking: tuple[int, ...]
    """Leaves that have not acknowledged all positions."""
    sideways: bool = False
    lost: dict[int, int] = {}
    """The first lost position of each leaf that has lost any: from there to `first`, it was owed positions that are
    kept no more."""


class Nack(msgspec.Struct, frozen=True, array_like=True, tag="nack"):
    """A negative acknowledgement: positions of which the sender knows nothing."""

    stream: int
    ranges: Ranges


class Silence(msgspec.Struct, frozen=True, array_like=True, tag="silence"):
    """Positions that hold nothing for the receiver."""

    stream: int
    ranges: Ranges
    sideways: bool = False
    """False also within a node, in an answer: the positions hold nothing for anybody further down."""


class Acknowledge(msgspec.Struct, frozen=True, array_like=True, tag="acknowledge"):
    """Positions up to which leaves have everything, on the way to the publishers' broker."""

    stream: int
    leaves: dict[int, int]
    """The first position that each leaf lacks; 0 for a leaf that cannot be reached."""
    idle: dict[int, int] = {}
    """Time until which each leaf without subscriptions has none, and is owed nothing."""


StreamControl = Head | Nack | Silence | Acknowledge

STREAM_LABELS: dict[type, str] = {Head: "head", Nack: "nack", Silence: "silence", Acknowledge: "acknowledge"}

_decode_stamp = header_decoder(Stamp)


def decode_stamp(header: bytes) -> Stamp:
    """The header of a publication. Raises `MalformedMessageError` for one that no correct neighbour sends."""
    stamp = _decode_stamp(header)
    position, age = stamp.position, stamp.age
    if not (0 < position < MOST_POSITION and ALL_BEFORE <= stamp.silent < position and 0 <= age < position):
        raise malformed("position")
    if not (0 <= stamp.base <= position - age and 0 <= stamp.hash < MOST_HASH):
        raise malformed("base or hash")
    return stamp


def require_ranges(ranges: Ranges) -> None:
    """Raises `MalformedMessageError` unless ranges are in order."""
    require(len(ranges) <= MOST_RANGES, "number of ranges")
    former = 0
    for start, end in ranges:
        require(former <= start < end < MOST_POSITION and start > 0, "range")
        former = end


def require(fulfilled: bool, what: str) -> None:
    """Raises `MalformedMessageError` unless a part of a message is as correct neighbours send it."""
    if not fulfilled:
        raise malformed(what)


def malformed(what: str) -> MalformedMessageError:
    """The error of a message with a part that no correct neighbour sends."""
    return MalformedMessageError(f"a message of a stream has a {what} that no correct neighbour sends")
