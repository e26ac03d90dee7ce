"""Moves of sites and clients in progress: where each site is, and which hosts are on their way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from scenario.faults.conditions import Away, Condition, Cut, Paused
from topology.link_properties import Link, LinkDirection
from topology.sites import ClientHost, Move, PresentSites, Site


class Moves:
    """The moves of a schedule of faults. A host that is on its way, or at its goal already, does not move."""

    def __init__(self, sites: Iterable[Site]) -> None:
        self._sites = PresentSites(sites)
        self._under_way: dict[Move, Site] = {}
        """Moves that have begun and not ended, with the sites that they leave."""

    @property
    def sites(self) -> list[Site]:
        """All sites, each where it is now."""
        return list(self._sites)

    def as_it_is(self, host: ClientHost) -> ClientHost:
        """A host with the clients that are there now."""
        return self._sites.as_it_is(host)

    def at_present(self, conditions: Sequence[Condition]) -> Iterator[Condition]:
        """The conditions of a fault as they begin: they strike the clients that are on a site then, and a site that
        vanishes is cut off from the broker at which it is."""
        vanishing = {one.target.site for one in conditions if isinstance(one, Away)}
        for one in conditions:
            if isinstance(one, Cut) and one.target.source in vanishing:
                yield Cut(LinkDirection(one.target.source, self._sites.site(one.target.source).broker))
            elif isinstance(one, Cut) and one.target.target in vanishing:
                yield Cut(LinkDirection(self._sites.site(one.target.target).broker, one.target.target))
            elif isinstance(one, Away | Paused) and isinstance(one.target, ClientHost):
                yield replace(one, target=self.as_it_is(one.target))
            else:
                yield one

    @property
    def under_way(self) -> bool:
        """True while a host is on its way."""
        return bool(self._under_way)

    def begin(self, move: Move) -> bool:
        """Records that a move is due. Returns False for one that changes nothing."""
        if self._sites.is_there(move) or self._is_busy(move) or self._is_shifting(move):
            return False
        self._under_way[move] = self._sites.site_now(move)
        return True

    def begun(self, move: Move) -> bool:
        """True of a move that is under way."""
        return move in self._under_way

    def end(self, move: Move) -> None:
        """The move is over."""
        del self._under_way[move]
        self._sites.arrive(move)

    def access_left(self, move: Move) -> Link | None:
        """The access link that goes with a move under way; None for clients that leave a site."""
        return self._under_way[move].link if move.of_site else None

    def access_gained(self, move: Move) -> Link | None:
        """The access link that comes with a move; None for clients that go to a site."""
        return self._sites.destination(move).link if move.of_site else None

    def _is_busy(self, move: Move) -> bool:
        """True where clients of a move are on their way already, or the site itself is, on which may be nobody."""
        clients = {client for other in self._under_way for client in self._sites.clients(other)}
        sites = {other.host.site for other in self._under_way if other.of_site}
        return bool(clients.intersection(self._sites.clients(move))) or (move.of_site and move.host.site in sites)

    def _is_shifting(self, move: Move) -> bool:
        """True where the site that a client would leave or reach is itself on its way, or clients are on their way from
        or to a site that would leave."""
        others = [other for other in self._under_way if other.of_site is not move.of_site]
        return any(self._places(other) & self._places(move) for other in others)

    def _places(self, move: Move) -> set[str]:
        """The site that goes, or those between which clients do."""
        site = (self._under_way.get(move) or self._sites.site_now(move)).name
        return {site} if move.of_site else {site, move.to}
