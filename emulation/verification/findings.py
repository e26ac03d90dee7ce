"""Findings on planned faults, and the questions about them that only logs answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from broker_service.config import Disturbance
from record.service_time import ServiceTime
from topology.link_properties import BrokerId, LinkDirection


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The outcome for one change that the plan has: it happened as planned, or did not, or is not known."""

    change: str
    """Fault or heal in words, with its target: `kill of B7`."""
    at: int
    """The time at which it was planned, in nanoseconds from the start of the join phase."""
    wrong: str = ""
    """Observation that contradicts the plan; empty where it happened as planned, or is not known."""
    unverified: str = ""
    """The reason why it is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Silence:
    """Asks for silence: a broker that is down or paused writes nothing to its log between two times."""

    finding: Finding
    broker: BrokerId
    begin: int
    """Nanoseconds of the run's clock, as in the following classes."""
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSilence:
    """Asks for silence: clients that are away or paused take nothing between two times."""

    finding: Finding
    clients: frozenset[str]
    begin: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamReset:
    """Asks for a reset: the stream of a link, if it was open, breaks at this time."""

    finding: Finding
    direction: LinkDirection
    time: int
    within: int
    """Nanoseconds that it may take until the end that closes the stream has logged it."""
    on_demand: bool
    """True for a link whose stream is closed while nothing moves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Disturbing:
    """Asks for disturbed messages: these shares of those in a direction, and none where no share is asked."""

    finding: Finding
    direction: LinkDirection
    disturbance: Disturbance
    begin: int
    end: int
    sampled: bool
    """True where brokers log a sample of publications."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """Asks for a service time: a broker takes at least this long for messages on average."""

    finding: Finding
    broker: BrokerId
    service_time: ServiceTime
    begin: int
    end: int
    delays: Mapping[BrokerId, float]
    """Delay in seconds of the link from each neighbour."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingAgain:
    """Asks for the end of a service time: a broker that took this long for each message takes less for one at least."""

    finding: Finding
    broker: BrokerId
    slowed: ServiceTime
    begin: int
    end: int
    neighbours: frozenset[BrokerId]
    """Neighbours whose messages are looked at; the arrival of clients' messages is not recorded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Promptness:
    """Asks for a record that is true: a fault or a heal that was found missing at one time is not recorded long before.

    It was found as asked at another time, or the looks themselves would say what is wrong.
    """

    finding: Finding
    target: str
    """The broker, or a direction of a link."""
    kind: str
    """Kind of the fault or the heal, as in the record."""
    missing: int
    """The latest begin of a look that found something else."""
    seen: str
    """The difference that this look found."""
    planned: int
    takes: int
    """Nanoseconds that may pass from the record until the change can be seen, by the way in which it is looked at."""


Question = Promptness | Silence | ClientSilence | StreamReset | Disturbing | Serving | ServingAgain
