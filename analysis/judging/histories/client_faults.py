"""Faults of clients on sites, of sites and of their access links, and the sessions that they explain.

1. Such a fault is no fault of the overlay: it silences no broker, delays no operation of other clients, and excuses
   nothing of what a publication met between the two brokers.
2. It explains that a session of its clients breaks, from its beginning until the session had the time to come back. The
   break is a record of the client's own. A session that breaks without it is a defect, as for clients beside their
   broker.
3. So it costs what a client without a session cannot get, and what it cannot publish: until its session is back and
   its subscriptions have settled again.
4. A cut shows in the session only once its ends have waited in vain. Where it breaks the session in the end, what was
   sent since the cut began is lost with the stream, and the session counts as broken from then on.
5. A client may have the name of a broker. Then a record means the client where only clients suffer such a fault, and
   else the broker, which is what the name means in a scenario.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from analysis.judging.histories.history import Session
from analysis.reading.intervals import NONE, Intervals
from analysis.reading.log_events import OutageEvent
from analysis.reading.outages import Outage, lasting, outages, separate_targets
from analysis.reading.stays import NO_STAYS, Stays
from record.faults import FaultKind, HealKind
from topology.sites import Site, site_of_each_client

_OF_CLIENTS_ALONE = frozenset({FaultKind.CRASH, FaultKind.VANISH, FaultKind.MOVE, HealKind.RETURN, HealKind.ARRIVE})


@dataclass(frozen=True, slots=True)
class ClientFaults:
    """The records of faults of one variant, those of the overlay and those of clients apart."""

    of_overlay: Sequence[OutageEvent]
    of_clients: Sequence[OutageEvent]
    names: frozenset[str]
    """Brokers and sites, which are the ends of links."""

    @classmethod
    def of(cls, faults: Iterable[OutageEvent], brokers: frozenset[str], sites: Sequence[Site]) -> ClientFaults:
        """Divides the faults of a variant with these sites, each of which is there once for each of its brokers."""
        clients = {client for site in sites for client in site.clients}
        others = {name for site in sites for name in _elements(site)}
        others |= {f"{a}-{b}" for site in sites for a, b in _ends(site)}
        of_overlay: list[OutageEvent] = []
        of_clients: list[OutageEvent] = []
        for event in faults:
            if event.target in clients and (event.target not in brokers or event.kind in _OF_CLIENTS_ALONE):
                of_clients.append(event._replace(target=_own(event.target)))
            else:
                (of_clients if event.target in others else of_overlay).append(event)
        return cls(of_overlay, of_clients, brokers | {site.name for site in sites})

    def client_outages(self) -> list[Outage]:
        """The outages of clients, sites and directions of access links, of each of these by itself."""
        return [
            replace(outage, target=target)
            for outage in dict.fromkeys(outages(self.of_clients, self.names))
            for target in separate_targets(outage.target, self.names)
        ]


class SessionElements:
    """The things that each session needs: its broker, and of a client on a site the client, the site and its link."""

    def __init__(self, sites: Iterable[Site], stays: Stays = NO_STAYS) -> None:
        self._site_of = site_of_each_client(sites)
        self._stays = stays

    def of(self, session: Session) -> Sequence[str]:
        """The names by which `ClientFaults` has faults of these."""
        node, broker = session
        client = node.partition(" ")[2]
        stays = self._stays.of(client)
        if stays:
            return [
                *(stay.broker for stay in stays),
                *(name for stay in stays for name in _elements(stay.site, client)),
            ]
        site = self._site_of.get(client)
        elements = () if site is None else _elements(site, client)
        return [broker or "", *elements]

    def of_client(self, session: Session) -> Sequence[str]:
        """Names of these things other than brokers."""
        return [name for name in self.of(session) if name not in self._brokers_of(session)]

    def struck(self, session: Session, struck: Mapping[str, Intervals]) -> Intervals:
        """The times in which faults had `struck` the client of a session, its site or its access link."""
        return Intervals.union(*(struck.get(element, NONE) for element in self.of_client(session)))

    def _brokers_of(self, session: Session) -> Sequence[str]:
        stays = self._stays.of(session[0].partition(" ")[2])
        return [stay.broker for stay in stays] or [session[1] or ""]

    def explain(self, session: Session, outage: Outage, struck: Mapping[str, Intervals]) -> bool:
        """True when a session broke while a fault had `struck` its client, its site or its access link."""
        return self.struck(session, struck).overlaps(outage.begin, outage.begin)


def begun_with_faults(
    sessions: Mapping[Session, Sequence[Outage]], faults: Iterable[Outage], elements: SessionElements, within: int
) -> dict[Session, Sequence[Outage]]:
    """The outages of sessions, each from the beginning of the fault of its client that explains it, and not from before
    the session was last open. A session may break up to `within` nanoseconds after such a fault."""
    by_target: dict[str, list[Outage]] = {}
    for fault in faults:
        by_target.setdefault(fault.target, []).append(fault)
    found: dict[Session, Sequence[Outage]] = {}
    for session, outages_of in sessions.items():
        of_client = [fault for element in elements.of(session) for fault in by_target.get(element, ())]
        returns = [0, *(down.end for down in outages_of)]
        found[session] = [
            replace(down, begin=_begun(down, of_client, back, within))
            for down, back in zip(outages_of, returns, strict=False)
        ]
    return found


def _begun(down: Outage, faults: Iterable[Outage], back: int, within: int) -> int:
    """The beginning of the first fault that explains an outage of a session which was open since `back`."""
    lasted = (fault for fault in faults if fault.end > back)
    begins = (fault.begin for fault in lasted if fault.begin <= down.begin <= lasting(fault, within)[1])
    return max(min(begins, default=down.begin), back)


def _elements(site: Site, *clients: str) -> Sequence[str]:
    return [site.name, *map(_own, clients), *(f"{a}->{b}" for a, b in _ends(site))]


def _own(client: str) -> str:
    """The name of a client as an element of its session, which no broker has."""
    return f"client {client}"


def _ends(site: Site) -> Sequence[tuple[str, str]]:
    return (site.name, site.broker), (site.broker, site.name)
