"""The frames that two neighbours exchange over a link, as plain values, and the times at which frames arrived.

`transport.wire` encodes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

import msgspec

from broker_service.messages import BrokerId, Message

Item = TypeVar("Item")


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


class Arrivals:
    """Arrivals of the frames of one stream of which something waits for service, in order, for the log."""

    __slots__ = ("frames",)

    def __init__(self) -> None:
        self.frames: list[tuple[int, int]] = []
        """Time of arrival, in nanoseconds, and number of items that wait, of each frame."""

    def parts(self, items: Sequence[Item]) -> Iterator[tuple[int | None, Sequence[Item]]]:
        """Divides items of several frames, or of a part of one, by the frames they came in. Yields the arrival of each
        part, which is None where it is not known."""
        begin, frames = 0, self.frames
        while begin < len(items):
            arrived, count = frames.pop(0) if frames else (None, len(items))
            part = items[begin : begin + count]
            if arrived is not None and len(part) < count:
                frames.insert(0, (arrived, count - len(part)))
            begin += len(part)
            yield arrived, part
