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


class Message(msgspec.Struct, frozen=True):
    """A message on an overlay link."""

    kind: Kind
    id: str
    body: bytes = b""
    header: bytes = b""
    hops: int = 0
    """Overlay links travelled when it is handled; a message made at this broker has 0."""
