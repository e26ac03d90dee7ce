"""The types that all modules of the network share: link drivers, ends of links, and names that show their owner."""

from __future__ import annotations

import enum
import hashlib
import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from emulation.host.journal import Resource
from record.errors import HostError
from topology.link_properties import BrokerId, Link

MAXIMUM_LINKS = 99_999
"""The limit by the length of an interface name; the /30 networks of 10.0.0.0/8 suffice for four million links."""

_BASE = int(ipaddress.IPv4Address("10.0.0.0"))
_PREFIX_LENGTH = 30


class NetworkError(HostError):
    """The emulated network cannot be built, is broken, or lacks what was requested."""


class LinkDriver(enum.StrEnum):
    """The mechanism that gives links their properties."""

    NETEM = "netem"
    """The kernel: HTB and netem on both ends of a veth pair."""
    USERSPACE = "userspace"
    """A relay process between two TAP interfaces."""
    PLAIN = "plain"
    """No mechanism: a bare veth pair, for benchmarks. Links that ask for properties are refused."""


class ChangeJournal(Protocol):
    """The record of every change to the host, which is written before the change. See `emulation.host.journal`."""

    def creating(self, resource: Resource, name: str) -> None:
        """Notes that a resource is about to be made. To be called before the change."""

    def started(self, name: str, pid: int) -> None:
        """Completes `creating` for a process."""

    def removed(self, resource: Resource, name: str) -> None:
        """Notes that a resource is gone. To be called afterwards."""


@dataclass(frozen=True, slots=True)
class NetworkLinkEnd:
    """A link from the perspective of one of its two brokers."""

    neighbour: BrokerId
    local_address: str
    remote_address: str
    interface: str
    first: bool
    """True at end `a` of the link, which dials."""


@dataclass(frozen=True, slots=True)
class LinkNames:
    """The interfaces, addresses and hardware addresses of a link's ends `a` and `b`."""

    link: Link
    interfaces: tuple[str, str]
    addresses: tuple[str, str]
    hardware_addresses: tuple[str, str]
    prefix_length: int = _PREFIX_LENGTH

    @classmethod
    def of(cls, link: Link, index: int, run_id: str) -> LinkNames:
        """Names of the `index`-th link of run `run_id`."""
        prefix = interface_prefix(run_id)
        network = _BASE + 4 * index
        low = f"{index & 0xFFFFFF:06x}"
        middle = f"{low[0:2]}:{low[2:4]}:{low[4:6]}"
        return cls(
            link,
            (f"{prefix}{index}a", f"{prefix}{index}b"),
            (str(ipaddress.IPv4Address(network + 1)), str(ipaddress.IPv4Address(network + 2))),
            (f"02:00:{middle}:0a", f"02:00:{middle}:0b"),
        )

    def __str__(self) -> str:
        return f"link {self.link.a}-{self.link.b}"

    def end(self, side: int) -> NetworkLinkEnd:
        """The link seen from end `a` (side 0) or `b` (side 1)."""
        neighbour = (self.link.b, self.link.a)[side]
        return NetworkLinkEnd(
            neighbour, self.addresses[side], self.addresses[1 - side], self.interfaces[side], side == 0
        )


def interface_prefix(run_id: str) -> str:
    """The prefix of the names of a run's interfaces: `b`, six hex digits of the run id's hash, a dash.

    Linux allows 15 characters; `b1a2b3c-12345a` is end `a` of link 12345.
    """
    return f"b{hashlib.sha256(run_id.encode()).hexdigest()[:6]}-"


def name_links(links: Iterable[Link], run_id: str) -> list[LinkNames]:
    """Interfaces and addresses of an overlay's links, by their order. Raises `NetworkError` if there are too many
    links."""
    names = [LinkNames.of(link, index, run_id) for index, link in enumerate(links)]
    if len(names) > MAXIMUM_LINKS:
        raise NetworkError(f"{len(names)} links are more than the {MAXIMUM_LINKS} for which there are interface names")
    pairs = set()
    for name in names:
        pair = frozenset((name.link.a, name.link.b))
        if len(pair) == 1:
            raise NetworkError(f"{name} joins a broker to itself: remove it from the topology")
        if pair in pairs:
            raise NetworkError(f"{name} exists twice: give one link both directions' properties")
        pairs.add(pair)
    return names
