"""The task of the prober and its result: one JSON document in each direction."""

from __future__ import annotations

import msgspec

SMALL_PAYLOAD, LARGE_PAYLOAD = 24, 1400
"""Bytes of UDP payload: for delay and loss, and for the rate."""
OVERHEAD = 14 + 20 + 8
"""Bytes that Ethernet, IPv4 and UDP add."""


class FarResponder(msgspec.Struct, frozen=True):
    """The responder that receives the probes of a direction that ends on another host."""

    address: str
    """IPv4 address of its host."""
    port: int
    token: str
    """The run's token as hex digits."""


class ProbedDirection(msgspec.Struct, frozen=True, kw_only=True):
    """One direction of a link, and how to probe it."""

    processes: tuple[int, int]
    """Processes in the network namespaces of the sending and the receiving end; the second one is used if that end is
    on this host."""
    addresses: tuple[str, str]
    delay: float
    """Upper bound, in seconds, of the time that a packet takes across the link while no frame queues."""
    rate: float | None = None
    """Bits per second."""
    train: int = 0
    """Number of large packets in a row, by which the rate is measured."""
    warm_up: int = 0
    """Number of packets at the head of a train that are not counted."""
    volley: int = 0
    """Number of small packets in a row, for loss."""
    volleys: int = 0
    responder: FarResponder | None = None
    """Responder of the host on which the receiving end is; None if it is on this host."""


class ProbeTask(msgspec.Struct, frozen=True, kw_only=True):
    """The probes to send."""

    directions: list[ProbedDirection]
    rounds: int
    """Packets for the delay in each direction."""
    interval: float
    """Seconds between two of them."""
    trains: int
    """Trains in each direction."""


class DirectionSamples(msgspec.Struct, frozen=True, kw_only=True):
    """The measurements in one direction."""

    delays: list[float]
    """One-way, in seconds, in the order sent."""
    rates: list[float]
    """Bits per second of Ethernet frames, one value for each train that was long enough."""
    sent: int
    """Number of small packets that were sent; `received` counts those that arrived."""
    received: int
    clock_error: float = 0.0
    """Greatest error of all delays in seconds, because the receiving end has another clock."""
