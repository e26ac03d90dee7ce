"""The frames that two neighbours exchange over a link, as plain values; `transport.wire` encodes them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from broker_service.messages import BrokerId, Message


class Hello(msgspec.Struct, frozen=True, kw_only=True):
    """The first frame of a stream in either direction: its sender, and how much of an earlier stream arrived."""

    broker: BrokerId
    incarnation: int
    """The sender's incarnation; grows with every start of the broker, from 1."""
    protocol: str
    """The routing protocol of the sender."""
    neighbour_incarnation: int = 0
    """The receiver's incarnation as the sender last knew it; 0 when it never did."""
    handled: int = 0
    """Messages of that incarnation that the sender has handled so far."""
    appearance: int = 1
    """The number of times that the two brokers have been linked, as the sender knows it."""


class Probe(msgspec.Struct, frozen=True, gc=False):
    """Times by which the two ends of a link measure its round trip, in nanoseconds of their own clocks."""

    time: int
    """The sender's time."""
    echo: int | None = None
    """The time of the receiver's latest probe, later by what has passed at the sender since that came in."""


class MessageFrame(msgspec.Struct, frozen=True, gc=False):
    """Messages, and an acknowledgement. Without messages it is an acknowledgement alone, or a heartbeat."""

    messages: Sequence[Message] = ()
    acknowledged: int = 0
    """Messages of the receiver's incarnation that the sender has handled so far."""
    probe: Probe | None = None
    """Probe of the round trip; on a heartbeat only."""


LinkFrame = Hello | MessageFrame
