"""Sites of clients on the map: their access links in words, and what goes over them and is left unread, by the second.

1. A site stands at its broker; one that moves, at its new broker from its arrival on. A client that moves to another
   site is one of that site from its arrival on; what its old broker still does for it counts at its old site. Faults of
   a site's clients and of its access links are shown at the site.
2. A publication counts for its access link when the client hands it over, and a notification when its broker passes it
   on.
3. Of clients that read at a rate, what their broker has passed on and they have neither read nor lost is unread. The
   records of both ends come from different logs, so each second has the change, and the page adds these up.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from analysis.live.frames import ShownSite, SiteSecond
from record.faults import FaultKind, HealKind
from record.log import Event, TraceRecord
from record.unread import UNREAD
from topology.link_properties import LinkDirection, LinkProperties
from topology.sites import Site

NO_SITE = -1
"""The number that stands for a place which is no site."""
NO_BROKER = -1
"""The number that stands for no broker."""
_HALVES_OF_A_MOVE = frozenset({FaultKind.MOVE, HealKind.ARRIVE})
_BY_BROKERS = frozenset({Event.DELIVERED, Event.DROPPED})
_COUNTED = frozenset({Event.PUBLISH, Event.NOTIFIED}) | _BY_BROKERS


@dataclass(slots=True)
class SiteCounts:
    """The counts of one site in one second."""

    to_broker: int = 0
    to_clients: int = 0
    unread: int = 0
    dropped: int = 0

    def shown(self, site: int) -> SiteSecond:
        return SiteSecond(site, self.to_broker, self.to_clients, self.unread, self.dropped)


class SitesOfVariant:
    """The sites of a variant, by number."""

    def __init__(self, sites: Sequence[Site], brokers: Mapping[str, int]) -> None:
        """`brokers` has the numbers of brokers."""
        self.shown = [_shown(site, brokers[site.broker]) for site in sites]
        self._brokers = brokers
        self._broker_of = [brokers[site.broker] for site in sites]
        """The broker at which each site has arrived."""
        self._names = {site.name: number for number, site in enumerate(sites)}
        self._slow = [site.reads_slowly for site in sites]
        self._of_client = {client: number for number, site in enumerate(sites) for client in site.clients}
        """The site at which each client begins."""
        self._arrived: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        """Times at which clients arrived at other sites, and these."""
        self._of_place = self._of_client | {
            place: number for number, site in enumerate(sites) for place in _places(site.name, site.broker)
        }

    def at(self, place: str) -> int:
        """The site that a fault's place is, or is a client or an access link of."""
        return self._of_place.get(place, NO_SITE)

    def arrival(self, record: TraceRecord) -> int:
        """The broker at which a site that moves has arrived by a record of a fault or its heal; `NO_BROKER` by others.

        From the beginning of a move on, the names of the access link to the new broker are known as well.
        """
        site, goal = self._names.get(record.peer or ""), record.to or ""
        if record.text not in _HALVES_OF_A_MOVE or site is None or goal not in self._brokers:
            return NO_BROKER
        self._of_place |= dict.fromkeys(_places(self.shown[site].name, goal), site)
        if record.text != HealKind.ARRIVE:
            return NO_BROKER
        self._broker_of[site] = self._brokers[goal]
        return self._brokers[goal]

    def joined(self, record: TraceRecord) -> int:
        """The site at which a client that moves has arrived by a record of a heal; `NO_SITE` by others."""
        client, goal = record.peer or "", self._names.get(record.to or "", NO_SITE)
        if record.text != HealKind.ARRIVE or goal == NO_SITE or client not in self._of_client:
            return NO_SITE
        insort(self._arrived[client], (record.time, goal))
        self._of_place[client] = goal
        return goal

    def of(self, record: TraceRecord) -> int:
        """The site at which a record counts, as far as records of moves have come before it."""
        if record.event not in _COUNTED or not self._of_client:
            return NO_SITE
        client = record.client or ""
        first, arrived = self._of_client.get(client, NO_SITE), self._arrived.get(client)
        if arrived is None:
            return first
        before = bisect_right(arrived, (record.time, len(self.shown)))
        been = [first, *(site for _, site in arrived[:before])]
        if record.event in _BY_BROKERS:
            broker = self._brokers.get(record.node, NO_BROKER)
            return next((site for site in reversed(been) if self._broker_of[site] == broker), been[-1])
        return been[-1]

    def count(self, record: TraceRecord, site: int, counts: SiteCounts) -> None:
        """Adds a record of this site to the counts of its second."""
        if record.event is Event.PUBLISH:
            counts.to_broker += 1
        elif record.event is Event.DELIVERED:
            counts.to_clients += 1
            counts.unread += self._slow[site]
        elif record.event is Event.NOTIFIED:
            counts.unread -= self._slow[site]
        elif (record.text or "").startswith(UNREAD):
            counts.dropped += record.count or 1
            counts.unread -= self._slow[site] * (record.count or 1)


def access_in_words(site: Site) -> str:
    """The properties of an access link as asked for."""
    up = _in_words(site.up)
    return up if site.up == site.down else f"{up}; to clients {_in_words(site.down)}"


def _shown(site: Site, broker: int) -> ShownSite:
    return ShownSite(site.name, broker, len(site.clients), access_in_words(site), site.reads if site.reads else 0.0)


def _places(site: str, broker: str) -> Iterator[str]:
    up = LinkDirection(site, broker)
    yield site
    yield from (f"{up.source}-{up.target}", f"{up.target}-{up.source}", str(up), str(up.reverse))


def _in_words(link: LinkProperties) -> str:
    parts = [f"{1000 * link.delay:.4g} ms" + (f" ± {1000 * link.jitter:.3g}" if link.jitter else "")]
    if link.loss:
        parts.append(f"{100 * link.loss:.3g}% loss")
    if link.rate is not None:
        parts.append(f"{link.rate / 1e6:.4g} Mbit/s")
    return ", ".join(parts)
