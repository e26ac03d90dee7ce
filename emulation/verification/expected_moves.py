"""The moves that a plan asks for: where sites and clients are to be at any time, and which access links are there.

1. A hard handover leaves at its begin and arrives at its end, a soft one the other way round.
2. A move that leads nowhere, or whose clients are on their way, is none. The same holds where the site that a client
   would leave or reach is on its way.
3. A move makes uncertain what an earlier one is to have brought to the same sites, which is not asked for any more.
4. Connections that a fault may keep from being open are not asked for: those with a broker that it ends or freezes, and
   those over an access link that it cuts. Neither is the number of connections of other hosts whose clients move.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace

from scenario.faults.conditions import Away, Condition, Cut, Moving, Paused
from topology.link_properties import BrokerId, LinkDirection
from topology.sites import ClientHost, Move, PresentSites, Site

Struck = BrokerId | frozenset[BrokerId]
"""A broker, or the two ends of a link."""


@dataclass(frozen=True, slots=True)
class Place:
    """A site while it is at a broker, and a bound of the connections from there."""

    site: str
    broker: BrokerId
    connections: int


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """The places at which the clients of a move are to be found, and not to be found."""

    found: Place | None = None
    """The place with at least so many connections; None while the clients are on their way."""
    left: Place | None = None
    """The place with at most so many; None while they still have their former sessions."""

    def concerns(self, sites: Iterable[str]) -> bool:
        """True where one of these sites is among the places."""
        return any(place is not None and place.site in sites for place in (self.found, self.left))


class ExpectedMoves:
    """Moves of a plan, one after another."""

    def __init__(
        self,
        sites: Sequence[Site],
        moves: Iterable[Move],
        steady: Iterable[str],
        struck: Container[Struck] = (),
        elsewhere: Container[BrokerId] = (),
    ) -> None:
        """`moves` are all that the plan has, `steady` the clients that no fault ends, `struck` the brokers and links
        with which faults may keep clients from connecting. What brokers `elsewhere` send is not looked at."""
        moves = list(moves)
        self._sites = PresentSites(sites)
        self._steady = frozenset(steady)
        self._struck = struck
        self._moving = {name for move in moves for name in (move.host.site, move.to, *move.host.clients)}
        self._left: dict[Move, Site] = {}
        """The sites, as they were, that moves under way leave."""
        self._whereabouts: dict[ClientHost, Whereabouts] = {}
        first = {site.name: site.broker for site in sites}
        goals = [(move.host.site, move.to) for move in moves if move.of_site]
        pairs = dict.fromkeys([*((site, first[site]) for site, _ in goals), *goals])
        self.directions = [
            direction
            for site, broker in pairs
            for direction in (LinkDirection(site, broker), LinkDirection(broker, site))
            if direction.source not in elsewhere
        ]
        """The directions of all access links that sites which move have over the run."""
        self._there = set(first.items())

    def is_absent(self, direction: LinkDirection) -> bool:
        """True of an access link that its site does not have now."""
        ends = direction.source, direction.target
        return direction in self.directions and not {ends, ends[::-1]} & self._there

    def whereabouts(self, host: ClientHost) -> Whereabouts | None:
        return self._whereabouts.get(host)

    def as_they_are(self, conditions: Iterable[Condition]) -> tuple[Condition, ...]:
        """The conditions of a fault as they begin: they strike the clients that are on a site then, and a site that
        vanishes is cut off from the broker at which it is."""
        conditions = tuple(conditions)
        vanishing = {one.target.site for one in conditions if isinstance(one, Away)}
        return tuple(self._as_it_is(one, vanishing) for one in conditions)

    def _as_it_is(self, one: Condition, vanishing: Container[str]) -> Condition:
        if isinstance(one, Cut):
            return self._cut_now(one, vanishing)
        if isinstance(one, Away | Paused) and isinstance(one.target, ClientHost):
            return replace(one, target=self._sites.as_it_is(one.target))
        return one

    def _cut_now(self, cut: Cut, vanishing: Container[str]) -> Cut:
        source, target = cut.target.source, cut.target.target
        if source in vanishing:
            return Cut(LinkDirection(source, self._sites.site(source).broker))
        if target in vanishing:
            return Cut(LinkDirection(self._sites.site(target).broker, target))
        return cut

    def is_uncertain(self, host: ClientHost) -> bool:
        """True of a host with clients that move at some time: its connections may not be those that it began with."""
        return not self._moving.isdisjoint((host.site, *host.clients))

    def begin(self, conditions: Iterable[Condition]) -> set[ClientHost | LinkDirection]:
        """Begins moves. Returns the hosts and directions that are concerned."""
        concerned: set[ClientHost | LinkDirection] = set()
        for condition in conditions:
            if isinstance(condition, Moving) and self._leads_anywhere(condition.move):
                move = condition.move
                self._left[move] = self._sites.site_now(move)
                concerned |= self._arrive(move) if move.handover.is_soft else self._leave(move)
        return concerned

    def end(self, conditions: Iterable[Condition]) -> set[ClientHost | LinkDirection]:
        """Ends moves. Returns the hosts and directions that are concerned."""
        concerned: set[ClientHost | LinkDirection] = set()
        for condition in conditions:
            if isinstance(condition, Moving) and condition.move in self._left:
                move = condition.move
                concerned |= self._leave(move) if move.handover.is_soft else self._arrive(move)
                del self._left[move]
        return concerned

    def _leads_anywhere(self, move: Move) -> bool:
        under_way = {client for other in self._left for client in self._sites.clients(other)}
        shifting = {other.host.site for other in self._left if other.of_site}
        return not (
            self._sites.is_there(move)
            or under_way.intersection(self._sites.clients(move))
            or shifting.intersection((self._sites.site_now(move).name, move.to))
        )

    def _leave(self, move: Move) -> set[ClientHost | LinkDirection]:
        left, gone = self._left[move], self._sites.clients(move)
        stay = 0 if move.of_site else len(set(left.clients) - set(gone))
        before = self._whereabouts.get(move.host)
        found = before.found if move.handover.is_soft and before is not None else None
        return self._note(move, Whereabouts(found, Place(left.name, left.broker, stay)), left, there=False)

    def _arrive(self, move: Move) -> set[ClientHost | LinkDirection]:
        self._sites.arrive(move)
        site = self._sites.site_now(move)
        hindered = site.broker in self._struck or frozenset((site.name, site.broker)) in self._struck
        connections = 0 if hindered else len(self._steady.intersection(site.clients))
        before = self._whereabouts.get(move.host)
        left = before.left if not move.handover.is_soft and before is not None else None
        return self._note(move, Whereabouts(Place(site.name, site.broker, connections), left), site, there=True)

    def _note(
        self, move: Move, whereabouts: Whereabouts, site: Site, *, there: bool
    ) -> set[ClientHost | LinkDirection]:
        sites = {self._left[move].name, site.name, *([] if move.of_site else [move.to])}
        uncertain = {host for host, other in self._whereabouts.items() if other.concerns(sites)}
        for host in uncertain:
            del self._whereabouts[host]
        self._whereabouts[move.host] = whereabouts
        if not move.of_site:
            return {move.host, *uncertain}
        (self._there.add if there else self._there.discard)((site.name, site.broker))
        direction = LinkDirection(site.name, site.broker)
        return {move.host, *uncertain, *{direction, direction.reverse}.intersection(self.directions)}
