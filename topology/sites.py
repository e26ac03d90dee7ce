"""Sites: hosts of clients, each with one access link to its broker."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from record.handover import Handover
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
    clients: tuple[str, ...] = field(compare=False)
    """The clients that fail: of a site those that are on it now, for which it stays the same host."""

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Move:
    """A site that goes to another broker, or a client that goes to another site."""

    host: ClientHost
    to: str
    """Broker to which a site goes with its access link, or site to which a client goes."""
    handover: Handover = Handover.UNANNOUNCED

    @property
    def of_site(self) -> bool:
        """True where a site moves, with all clients that are on it."""
        return self.host.name == self.host.site


class PresentSites:
    """The sites of a run as they are now: each with the broker that it is at, and the clients that are on it."""

    def __init__(self, sites: Iterable[Site]) -> None:
        self._sites = {site.name: site for site in sites}

    def __iter__(self) -> Iterator[Site]:
        return iter(self._sites.values())

    def site(self, name: str) -> Site:
        """A site as it is now."""
        return self._sites[name]

    def site_of(self, client: str) -> Site:
        """The site that a client is on now."""
        return next(site for site in self if client in site.clients)

    def as_it_is(self, host: ClientHost) -> ClientHost:
        """A host with the clients that are there now: a client alone has itself."""
        return replace(host, clients=self.site(host.site).clients) if host.name == host.site else host

    def site_now(self, move: Move) -> Site:
        """The site that moves, or the site that the moving client is on, in its present state."""
        return self.site(move.host.site) if move.of_site else self.site_of(move.host.name)

    def clients(self, move: Move) -> tuple[str, ...]:
        """The clients that a move takes along."""
        return self.site(move.host.site).clients if move.of_site else move.host.clients

    def is_there(self, move: Move) -> bool:
        """True if a move changes nothing, because what moves is at its destination already."""
        if move.of_site:
            return self.site(move.host.site).broker == move.to
        return move.host.name in self.site(move.to).clients

    def destination(self, move: Move) -> Site:
        """The site of the moved clients after the move: their own site at its new broker, or the site that they go
        to."""
        if move.of_site:
            return replace(self.site(move.host.site), broker=move.to)
        goal = self.site(move.to)
        return replace(goal, clients=tuple(dict.fromkeys((*goal.clients, *move.host.clients))))

    def arrive(self, move: Move) -> None:
        """Records that a move is complete."""
        destination = self.destination(move)
        if not move.of_site:
            left = self.site_of(move.host.name)
            clients = tuple(client for client in left.clients if client not in move.host.clients)
            self._sites[left.name] = replace(left, clients=clients)
        self._sites[destination.name] = destination


def with_sites(overlay: Overlay, sites: Iterable[Site], later: Iterable[Link] = ()) -> Overlay:
    """The overlay extended by everything that a host has to connect: a node for each site, and the access links.

    The access links follow the overlay's own links; those that sites get by moving (`later`) come last.
    """
    sites = list(sites)
    if not sites:
        return overlay
    nodes = (*overlay.brokers, *(Broker(site.name) for site in sites))
    return replace(overlay, brokers=nodes, links=(*overlay.links, *(site.link for site in sites), *later))


def site_of_each_client(sites: Iterable[Site]) -> Mapping[str, Site]:
    """The site of each client that is on one; clients beside their broker are not among them."""
    return {client: site for site in sites for client in site.clients}


def slow_readers(sites: Iterable[Site]) -> frozenset[str]:
    """The clients that read notifications at a limited rate."""
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
