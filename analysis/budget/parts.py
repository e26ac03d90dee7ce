"""The parts of a delay, and the rows in which they travel. All are whole nanoseconds, so that they add up exactly."""

from __future__ import annotations

from enum import IntEnum


class Part(IntEnum):
    """A part of a delay. Parts are disjoint intervals of time, and all of them together are the delay."""

    LINKS = 0
    """Delay, jitter, transmission and queueing of links, as asked; of links that lose, TCP's repeats."""
    WAITING_FOR_LINKS = 1
    """In output queues, and while a link's send time passes."""
    WAITING_AT_BROKERS = 2
    """Behind a broker's own earlier work, for modelled service, in a router that holds it back, and for faults."""
    WORK = 3
    """Processor time of its handling: as charged by a simulated run, and of real brokers as the calibration has it, or
    the router's as logged where that is more."""
    PLATFORM = 4
    """Wake-ups, system calls and gRPC, modelled: the mean by the calibration."""
    CONTENTION = 5
    """Waiting for a processor, as the kernel counts it."""
    UNEXPLAINED = 6
    """The rest, positive or negative."""
    ACCESS = 7
    """Access links of publishers' and of clients' sites, as links. Figures have it with them."""


class PassageColumn(IntEnum):
    """The columns of a publication's passage: from the output queue of a broker to its turn at the next, or from a
    client to its turn at the client's broker."""

    MESSAGE = 0
    """The number of the message, as in `HopColumn`."""
    VARIANT = 1
    BROKER = 2
    """The number of the receiving node."""
    TIME = 3
    """The time of the message's turn at the receiver."""
    BEGIN = 4
    """The time at which the message entered the sender's output queue; for a client's message, the time of the broker's
    turn before, which may have been long ago."""
    SENDER = 5
    """The number of the sending node; `NOBODY` for a client."""
    COST = 6
    """Modelled work of handling a client's message."""
    BY_SENDER = 7
    """The sender's share of the contention."""
    BY_RELAY = 8
    """The share of the contention of the relay on the sender's host."""
    BY_FAR_RELAY = 9
    """The share of the contention of the relay on the receiver's host, if that is another host. The rest of the
    contention is the receiver's."""
    REST_OF_SENDER = 10
    """The sender's share of the unexplained time."""
    REST_OF_RELAY = 11
    """The share of the unexplained time of the relay on the sender's host."""
    REST_OF_FAR_RELAY = 12
    """The share of the unexplained time of the relay on the receiver's host, if that is another host. The rest of the
    unexplained time is the receiver's."""
    CAME = 13
    """The time at which a client's message arrived over its access link; the time of its turn where that is not
    known."""
    PARTS = 14
    """The first of the parts."""


PARTS = len(Part)
PASSAGE = PassageColumn.PARTS + PARTS
"""The number of columns of a passage."""
