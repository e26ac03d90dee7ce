"""Statistics of one link direction and of one broker's work, as they come from a bucket of messages."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import msgspec

from analysis.tables.totals import Rows, Tally
from topology.link_properties import LinkProperties

QUANTILES = (0.1, 0.5, 0.9)


@dataclass(frozen=True, slots=True)
class Spread:
    """The distribution of some times, in nanoseconds."""

    count: int = 0
    least: float = 0.0
    low: float = 0.0
    """The first decile."""
    median: float = 0.0
    high: float = 0.0
    """The last decile."""
    mean: float = 0.0


class LinkReading(msgspec.Struct, frozen=True, kw_only=True):
    """One direction of a link, by its messages while no fault was on it."""

    variant: int
    source: str
    target: str
    asked: LinkProperties
    sent: int
    paired: int
    delay: Spread
    """Time from writing to arrival, less the time for which the rate serialises, over frames that found the link idle
    and were not sent again by TCP. Where enough of them were undisturbed by waits for a processor, over those alone."""
    disturbed: int
    """Frames that found the link idle and were disturbed by such waits."""
    cleared: Spread
    """Times like `delay`, less the most that can have been waiting for a processor."""
    idle: int
    """Frames that found the link idle."""
    late: int
    """Frames that found the link idle and that TCP sent again."""
    late_expected: float
    """Number of frames that TCP should have sent again, of those that found the link idle, by the loss that was asked
    for."""
    queued: int
    """Frames that had to wait for the frame before them by the rate."""
    queued_stretch: float
    """Time between the arrivals of those, over the time that the rate gives them."""
    unlogged: float
    """The largest share of the rate that frames take which no log has: acknowledgements of publications on the way to a
    site."""
    acknowledgement: float
    """Nanoseconds for which the rate serialises a frame without messages, which no log has."""
    sending: Spread
    """Time from leaving the queue to writing, of messages whose sending took time."""
    overlapping: int
    """Messages that left the queue before the one ahead was written."""


@dataclass(frozen=True, slots=True)
class TurnTimes:
    """Nanoseconds from arrival to the router's turn, of all messages from neighbours together."""

    messages: int = 0
    whole: float = 0.0
    earlier: float = 0.0
    """Nanoseconds behind the broker's own earlier work."""
    service: float = 0.0
    """Nanoseconds of the modelled service of the message itself."""
    waiting: float = 0.0
    """Nanoseconds of waiting for a processor, as the kernel counts it."""

    def __add__(self, other: TurnTimes) -> TurnTimes:
        return TurnTimes(
            self.messages + other.messages,
            self.whole + other.whole,
            self.earlier + other.earlier,
            self.service + other.service,
            self.waiting + other.waiting,
        )


class ServiceReading(msgspec.Struct, frozen=True, kw_only=True):
    """The work of one broker, by the turns of its messages while no fault was on it. Work that the calibration charges
    for is taken off."""

    variant: int
    broker: str
    busy: Spread
    """From one turn to the next, of pieces of work that had come before the former was done."""
    idle: Spread
    """From arrival to turn, of pieces of work that found the broker idle."""
    turns: TurnTimes


@dataclass(slots=True)
class HopTally(Tally):
    """The readings of some buckets."""

    links: Rows[LinkReading] = field(default_factory=partial(Rows, LinkReading, ("variant", "source", "target")))
    services: Rows[ServiceReading] = field(default_factory=partial(Rows, ServiceReading, ("variant", "broker")))
