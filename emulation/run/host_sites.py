"""The sites of a host's network, and the faults of their clients, which drivers and client programs undergo."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import UNSET

from emulation.drivers.ended_clients import EndedClients
from emulation.drivers.instructions import Arrive, Depart, Leave, Pause, Resume, Return
from emulation.drivers.site_end import SiteEnd
from emulation.network.network import EmulatedNetwork
from emulation.run.drivers import Drivers
from emulation.run.program_clients import ProgramClients
from emulation.runtimes.host_overlay import ARRIVALS_PORT, BROKER_PORT
from record.handover import Handover
from topology.link_properties import Link
from topology.sites import ClientHost, Move, PresentSites, Site


class HostSites:
    """`LiveSites` of clients for which driver processes act, and of programs, which do not move.

    A site that moves loses one access link and gets another one. A client that moves uses the access link of another
    site: its sockets are made there from then on.
    """

    def __init__(
        self,
        sites: Sequence[Site],
        drivers: Drivers,
        network: EmulatedNetwork,
        programs: ProgramClients | None = None,
        *,
        planned: Iterable[Link] = (),
    ) -> None:
        """`programs` are those of the run; None without any. `planned` are access links for moves, on which brokers
        listen as on those that `sites` have at the begin."""
        self.sites = sites
        self.present = PresentSites(sites)
        self._drivers = drivers
        self._programs = programs
        self._network = network
        self._listened_on = {(link.a, link.b) for link in (*(site.link for site in sites), *planned)}
        self._ended, self._paused = EndedClients(), EndedClients()
        self._leaving: dict[Move, Site] = {}
        """The sites, as they were, of clients that have arrived and have not left yet."""

    def end(self, host: ClientHost) -> None:
        clients = tuple(self._ended.end(host))
        self._drivers.instruct(Leave(clients))
        if self._programs is not None:
            self._programs.end(clients)

    def come_back(self, host: ClientHost) -> None:
        clients = tuple(self._ended.come_back(host))
        self._drivers.instruct(Return(clients))
        if self._programs is not None:
            self._programs.come_back(clients)

    def pause(self, host: ClientHost) -> None:
        clients = tuple(self._paused.end(host))
        self._drivers.instruct(Pause(clients))
        if self._programs is not None:
            self._programs.pause(clients)

    def resume(self, host: ClientHost) -> None:
        clients = tuple(self._paused.come_back(host))
        self._drivers.instruct(Resume(clients))
        if self._programs is not None:
            self._programs.resume(clients)

    def depart(self, move: Move) -> None:
        left = self._leaving.pop(move, None) or self.present.site_now(move)
        departure = Depart(self.present.clients(move), self.present.destination(move).broker, move.handover)
        if move.handover is Handover.UNANNOUNCED:
            self._disconnect(move, left)
            self._drivers.depart(departure)
        else:
            self._drivers.depart(departure)
            self._disconnect(move, left)

    def arrive(self, move: Move) -> None:
        if move.handover.is_soft:
            self._leaving[move] = self.present.site_now(move)
        clients, destination = self.present.clients(move), self.present.destination(move)
        if move.of_site:
            self._network.add(destination.link)
        self.present.arrive(move)
        end = self._end_at(destination)
        self._drivers.instruct(Arrive(dict.fromkeys(clients, end)))

    def _disconnect(self, move: Move, left: Site) -> None:
        """Takes the access link of a site that moves; one that single clients leave stays."""
        if move.of_site:
            self._network.remove(left.name, left.broker)

    def _end_at(self, site: Site) -> SiteEnd:
        """The end of a session at a site, over its present access link."""
        link = next(end for end in self._network.ends(site.name) if end.neighbour == site.broker)
        port = BROKER_PORT if (site.name, site.broker) in self._listened_on else ARRIVALS_PORT
        reads = None if site.reads is UNSET else site.reads
        return SiteEnd(site.broker, f"{link.remote_address}:{port}", self._network.pid(site.name), reads)
