"""Observations of brokers and links from outside, and the contract of whoever makes them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from topology.link_properties import BrokerId, LinkDirection, LinkProperties
from topology.sites import ClientHost


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerSeen:
    """A broker, while it was watched."""

    processes: int
    """Processes of this broker that exist, a frozen one included."""
    works: bool = False
    """True when one of the processes did something."""
    incarnation: int | None = None
    """The incarnation that it reports; None when it does not answer."""
    starting: bool = False
    """True while it exists and nobody listens yet, which takes as long as its program needs to start."""
    stopping: bool = False
    """True while it ends in order, which may take as long as messages wait."""
    cores: float | None = None
    """The quota that its processes have; None without one, or where none can be had."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectionSeen:
    """Probes of a direction of a link."""

    sent: int
    """Small packets, of which some may be sent for the share of losses alone."""
    arrived: int
    delays: tuple[float, ...] = ()
    """One-way, in seconds, of small packets that arrived."""
    expected_delay: float = 0.0
    """Median delay of such a packet with the requested properties and nothing before it, in seconds."""
    rate: float | None = None
    """Bits per second at which a train of large packets arrived; None where none was sent."""
    error: float = 0.0
    """Seconds by which the observer itself may be wrong about a delay."""
    shared: bool = False
    """True where other frames used the link meanwhile, so that packets may have waited behind them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteSeen:
    """The site of a host of clients."""

    connections: int
    """Open connections of its clients to their broker."""
    clients: int
    """Clients that are on it, whether or not they run."""
    reachable: bool
    """False while its access link is cut."""


class FaultObserver(Protocol):
    """Looks at brokers, links and sites from outside. It must not change what it looks at."""

    @property
    def patience(self) -> float:
        """Seconds that a change may take until it can be seen, besides the time that a broker takes to start."""

    @property
    def start_takes(self) -> float:
        """Seconds that a broker may take to start."""

    @property
    def stop_takes(self) -> float:
        """Seconds that a broker may take to end in order."""

    @property
    def return_takes(self) -> float:
        """Seconds that clients which run again, or move, may take to open their sessions."""

    @property
    def look_takes(self) -> float:
        """Seconds that a look takes at most."""

    @property
    def looks_again(self) -> float:
        """Seconds until a look that found something else than asked is repeated."""

    def brokers(self, brokers: Sequence[BrokerId]) -> Mapping[BrokerId, BrokerSeen]:
        """Looks at brokers. One that cannot be looked at is missing."""

    def sites(self, hosts: Sequence[ClientHost]) -> Mapping[ClientHost, SiteSeen]:
        """Looks at the sites of hosts of clients. One that cannot be looked at is missing."""

    def connections(self, sites: Collection[str]) -> Mapping[str, Mapping[BrokerId, int]]:
        """The open connections of sites, by site and broker. A site that cannot be looked at is missing."""

    def directions(
        self, asked: Mapping[LinkDirection, LinkProperties], lost: Mapping[LinkDirection, float]
    ) -> Mapping[LinkDirection, DirectionSeen]:
        """Probes directions for these properties, where that share of packets should be lost.

        One that cannot be probed is missing.
        """
