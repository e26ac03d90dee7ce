"""What travels between neighbouring brokers, as plain values.

One class serves every routing protocol: `body` is the client's own content (a publication, or the predicates of a
subscription or an advertisement) and stays opaque until it is matched; `header` is whatever the routing protocol adds
and only that protocol can read.
"""

from __future__ import annotations

import enum

import msgspec

BrokerId = str
ClientId = str


class Kind(enum.IntEnum):
    """What a message asks of the broker that receives it. Values equal those of `Kind` in proto/broker.proto."""

    ADVERTISE = 1
    UNADVERTISE = 2
    SUBSCRIBE = 3
    UNSUBSCRIBE = 4
    PUBLISH = 5
    CONTROL = 6

    # As an int's: the inherited hash is a Python call on every table look-up.
    __hash__ = int.__hash__

    @property
    def word(self) -> str:
        """The name in the log."""
        return KIND_WORDS[self]


MOST_HOPS = 10_000
"""Overlay links that a message may travel: as many as the largest overlay has brokers. One that has come farther goes
round in circles, for want of a sane routing table somewhere, and would do so for ever."""

KIND_WORDS = {kind: kind.name.lower() for kind in Kind}


class Message(msgspec.Struct, frozen=True):
    """A message on an overlay link."""

    kind: Kind
    id: str
    body: bytes = b""
    header: bytes = b""
    hops: int = 0
    """Overlay links travelled when the next broker handles it; 0 for a client's own at its broker."""

    @property
    def size(self) -> int:
        """Bytes of body and header."""
        return len(self.body) + len(self.header)


class Operation(enum.IntEnum):
    """What a client asks of its broker. Values equal those of `Operation` in proto/broker.proto."""

    ATTACH = 1
    DETACH = 2
    ADVERTISE = 3
    UNADVERTISE = 4
    SUBSCRIBE = 5
    UNSUBSCRIBE = 6
    PUBLISH = 7

    __hash__ = int.__hash__


class Outcome(enum.IntEnum):
    """What a broker tells a client. Values equal those of `Outcome` in proto/broker.proto."""

    CONFIRMED = 1
    REJECTED = 2
    NOTIFIED = 3


class ClientRequest(msgspec.Struct, frozen=True):
    """One operation of one logical client."""

    client: ClientId
    number: int
    """Chosen by the client; the answer carries it. Publications are answered only when they are rejected."""
    operation: Operation
    id: str = ""
    """The client's own name for the advertisement, subscription or publication."""
    body: bytes = b""
    """Encoded content or predicates."""


class ClientEvent(msgspec.Struct, frozen=True):
    """What a broker tells clients of one session."""

    outcome: Outcome
    clients: tuple[ClientId, ...]
    number: int = 0
    id: str = ""
    body: bytes = b""
    hops: int = 0
    reason: str = ""
