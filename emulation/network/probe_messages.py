"""What the emulator asks of its prober, and what it gets back: one JSON document each way."""

from __future__ import annotations

import msgspec

SMALL_PAYLOAD, LARGE_PAYLOAD = 24, 1400
"""Bytes of UDP payload: for delay and loss, and for the rate."""
OVERHEAD = 14 + 20 + 8
"""Bytes that Ethernet, IPv4 and UDP add."""


class FarResponder(msgspec.Struct, frozen=True):
    """Who takes the probes of a direction that ends on another host (`responder`)."""

    address: str
    """On the underlay."""
    port: int
    token: str
    """Of the run, as hex digits."""


class ProbedDirection(msgspec.Struct, frozen=True, kw_only=True):
    """One direction of a link, and how to probe it."""

    processes: tuple[int, int]
    """In the network namespaces of the sending and the receiving end; the latter counts where it is on this host."""
    addresses: tuple[str, str]
    delay: float
    """Seconds in which a packet is sure to cross the link while nothing queues."""
    rate: float | None = None
    """Bits per second."""
    train: int = 0
    """Large packets in a row, for the rate; none when 0."""
    warm_up: int = 0
    """Packets at the head of a train that do not count."""
    volley: int = 0
    """Small packets in a row, for loss."""
    volleys: int = 0
    responder: FarResponder | None = None
    """None where the receiving end is on this host."""


class ProbeTask(msgspec.Struct, frozen=True, kw_only=True):
    """What to send."""

    directions: list[ProbedDirection]
    rounds: int
    """Packets for the delay, in each direction."""
    interval: float
    """Seconds between two of them."""
    trains: int
    """In each direction."""


class DirectionSamples(msgspec.Struct, frozen=True, kw_only=True):
    """What was measured in one direction."""

    delays: list[float]
    """One-way, in seconds, in the order sent."""
    rates: list[float]
    """Bits per second of Ethernet frames, one for each train that told one."""
    sent: int
    """Small packets."""
    received: int
    clock_error: float = 0.0
    """Seconds by which all delays may be wrong at most, because the receiving end has another clock."""
