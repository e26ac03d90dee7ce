"""The stays of clients that move: at which site and which broker each was, by the emulator's records of its moves.

1. A client stays at its site until it departs, and from its arrival on at the site, or the broker, to which it went. A
   hard handover leaves a time between the two stays, a soft one has them overlap.
2. A site takes all clients along that are on it when it departs.
3. Where each move began and ended is what the emulator wrote. What clients and brokers made of it is in their own logs,
   and is judged by these stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from msgspec import UNSET

from analysis.reading.intervals import FOREVER
from analysis.run_files.logs import Dilations, Logs, Piece, bring_to_scenario_time
from analysis.run_files.run_directory import RunDirectory
from record.faults import FaultKind, HealKind
from record.files import node_of
from record.handover import Handover
from record.log import FAULT_CHANGES, Event, TraceRecord
from topology.sites import Site

_BEGINNING = -FOREVER


@dataclass(frozen=True, slots=True)
class Stay:
    """A time in which a client has the access link of one site to one broker. Nanoseconds."""

    site: Site
    """The site as it is then."""
    begin: int = _BEGINNING
    end: int = FOREVER
    handover: Handover | None = None
    """The way in which the client came; None for the first stay."""

    @property
    def broker(self) -> str:
        return self.site.broker


@dataclass(frozen=True, slots=True)
class Stays:
    """The stays of each client of one variant that moves, in order; clients that stay where they are have none."""

    of_client: Mapping[str, Sequence[Stay]] = field(default_factory=dict)
    sites: tuple[Site, ...] = ()
    """The sites at the brokers to which moves have brought them, those that nobody is on included."""

    def of(self, client: str) -> Sequence[Stay]:
        """The stays of a client; none of one that does not move."""
        return self.of_client.get(client, ())

    def at(self, client: str, time: int) -> Stay:
        """The stay of a moving client that is judged at a time: the one that it has not left yet."""
        stays = self.of_client[client]
        return next((stay for stay in stays if time < stay.end), stays[-1])

    def had_left(self, client: str, broker: str, time: int) -> bool:
        """True when a moving client had been at a broker and was not at a time."""
        stays = [stay for stay in self.of(client) if stay.broker == broker]
        return any(stay.end < time for stay in stays) and not any(stay.begin <= time <= stay.end for stay in stays)

    def site_at(self, client: str, broker: str, time: int) -> str | None:
        """The site over which a client had a message with a broker; None where it had left that broker."""
        stays = [stay for stay in self.of(client) if stay.broker == broker and stay.begin <= time]
        return stays[-1].site.name if stays and time < stays[-1].end else None

    def handovers(self, client: str) -> Iterator[tuple[Stay, Stay]]:
        """Each two stays of a client that follow one another."""
        return pairwise(self.of(client))

    def with_two_sessions(self, client: str) -> frozenset[str]:
        """Brokers with which a client had two sessions at once, by a soft handover between two of their sites."""
        return frozenset(
            left.broker
            for left, later in self.handovers(client)
            if left.broker == later.broker and later.begin < left.end
        )


NO_STAYS = Stays()


def stays_of(logs: Logs, nodes: Iterable[str], variant: str, sites: Sequence[Site], dilations: Dilations) -> Stays:
    """The stays of a variant's clients, by the logs of these nodes. Raises `OSError`."""
    moved = _Moved(sites)
    for record in _records(logs, frozenset(nodes), variant, dilations):
        moved.note(record)
    stays = {client: stays for client, stays in moved.stays.items() if len(stays) > 1}
    return Stays(stays, tuple(moved.arrived.values()))


class _Moved:
    """The sites of a variant while its moves are read, in the order of time."""

    def __init__(self, sites: Iterable[Site]) -> None:
        self._sites = {site.name: site for site in sites}
        self._leaving: dict[str, tuple[str, ...]] = {}
        """The clients of moves that have begun and not ended, by the name of their host."""
        self.arrived: dict[tuple[str, str], Site] = {}
        """The sites where moves have ended, by name and broker."""
        self.stays: dict[str, list[Stay]] = {
            client: [Stay(site)] for site in self._sites.values() for client in site.clients
        }

    def note(self, record: TraceRecord) -> None:
        """Records the first or the second half of a move."""
        host, goal, handover = record.peer or "", record.to or "", Handover(record.kind or Handover.UNANNOUNCED)
        begins = record.event is Event.FAULT
        if begins:
            self._leaving[host] = self._sites[host].clients if host in self._sites else (host,)
        clients = self._leaving.get(host, ())
        time = record.time if begins else record.time - (record.duration or 0)
        if begins is handover.is_soft:
            self._arrive(host, goal, clients, Stay(self._goal(host, goal), time, handover=handover))
        else:
            self._depart(clients, time, 2 if handover.is_soft else 1)
        if not begins:
            self._leaving.pop(host, None)

    def _goal(self, host: str, goal: str) -> Site:
        return replace(self._sites[host], broker=goal) if host in self._sites else self._sites[goal]

    def _depart(self, clients: Iterable[str], time: int, place: int) -> None:
        """Ends the stays at this place from the end."""
        for client in clients:
            self.stays[client][-place] = replace(self.stays[client][-place], end=time)

    def _arrive(self, host: str, goal: str, clients: Iterable[str], stay: Stay) -> None:
        self.arrived[stay.site.name, stay.broker] = stay.site
        for client in clients:
            self.stays[client].append(stay)
        if host in self._sites:
            self._sites[host] = stay.site
            return
        for name, site in self._sites.items():
            others = tuple(client for client in site.clients if client != host)
            self._sites[name] = replace(site, clients=(*others, host) if name == goal else others)


def _records(logs: Logs, nodes: frozenset[str], variant: str, dilations: Dilations) -> Iterator[TraceRecord]:
    """The records of moves, in order."""
    for file in logs.files():
        if node_of(file.name) not in nodes:
            continue
        for block in logs.blocks(Piece(file.name, 0, file.size)):
            found = [record for record in block.records if record.variant == variant and _is_of_move(record)]
            bring_to_scenario_time(found, dilations)
            yield from found


def _is_of_move(record: TraceRecord) -> bool:
    return record.event in FAULT_CHANGES and record.text in (FaultKind.MOVE, HealKind.ARRIVE)


def sites_ever(run: RunDirectory, variant: str) -> tuple[Site, ...]:
    """The sites of a variant's clients, and behind these each at every further broker that it was at."""
    first = run.sites.get(variant, ())
    known = {(site.name, site.broker) for site in first}
    moved = stays_of_run(run).get(variant, NO_STAYS).sites
    return (*first, *(site for site in moved if (site.name, site.broker) not in known))


def stays_of_run(run: RunDirectory) -> dict[str, Stays]:
    """The stays of clients in each variant for which moves were planned. Raises `OSError`."""
    return {
        variant.name: stays_of(
            run.logs, variant.event_logs or (), variant.name, run.sites.get(variant.name, ()), run.dilations
        )
        for variant in run.manifest.variants
        if variant.moves is not UNSET
    }
