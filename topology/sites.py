"""Sites: hosts of clients, each with one access link to its broker."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from topology.link_properties import BrokerId, Link, LinkProperties, OverlayError
from topology.model import Broker, Overlay


@dataclass(frozen=True, slots=True)
class Site:
    """One host of clients."""

    name: str
    broker: BrokerId
    clients: tuple[str, ...]
    """Names of the clients that are on it."""
    up: LinkProperties
    """Properties of the access link from the site to the broker."""
    down: LinkProperties
    """Properties of the access link from the broker to the site."""
    reads: float | msgspec.UnsetType = msgspec.UNSET
    """Notifications a second that each of its clients reads; not set where they read whatever comes."""

    @property
    def reads_slowly(self) -> bool:
        """True where its clients read at a rate."""
        return self.reads is not msgspec.UNSET

    @property
    def has_rate(self) -> bool:
        """True where the access link has a rate."""
        return self.up.rate is not None or self.down.rate is not None

    @property
    def holds_messages(self) -> bool:
        """True where messages may wait at the access link for as long as there are many: it has a rate, or clients
        read at one."""
        return self.has_rate or self.reads_slowly

    @property
    def link(self) -> Link:
        """The access link: from the site to the broker, and back."""
        return Link(self.name, self.broker, self.up, self.down)


@dataclass(frozen=True, slots=True)
class ClientHost:
    """A site, or one client on a site, that fails as a whole."""

    name: str
    """Name of the site, or of the client."""
    site: str
    clients: tuple[str, ...]

    def __str__(self) -> str:
        return self.name


def with_sites(overlay: Overlay, sites: Iterable[Site]) -> Overlay:
    """The overlay with a node for each site, and the access links behind its own links: all that a host wires."""
    sites = list(sites)
    if not sites:
        return overlay
    nodes = (*overlay.brokers, *(Broker(site.name) for site in sites))
    return replace(overlay, brokers=nodes, links=(*overlay.links, *(site.link for site in sites)))


def site_of_each_client(sites: Iterable[Site]) -> Mapping[str, Site]:
    """The site of each client that is on one; clients beside their broker are not among them."""
    return {client: site for site in sites for client in site.clients}


def slow_readers(sites: Iterable[Site]) -> frozenset[str]:
    """The clients that read at a rate."""
    return frozenset(client for site in sites if site.reads_slowly for client in site.clients)


def save_sites(sites: Iterable[Site], path: Path) -> None:
    """Writes JSON. Raises `OSError`."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(list(sites)), indent=1) + b"\n")


def load_sites(path: Path) -> tuple[Site, ...]:
    """Reads what `save_sites` wrote. Raises `OverlayError`, naming the file, or `OSError`."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=tuple[Site, ...])
    except (msgspec.DecodeError, OverlayError) as error:
        raise OverlayError(f"{path}: {error}") from error
