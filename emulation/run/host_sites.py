"""The sites of a host's network, and the faults of their clients, which drivers and client programs undergo."""

from __future__ import annotations

from collections.abc import Sequence

from emulation.drivers.ended_clients import EndedClients
from emulation.drivers.instructions import Leave, Pause, Resume, Return
from emulation.run.drivers import Drivers
from emulation.run.program_clients import ProgramClients
from record.errors import HostError
from topology.sites import ClientHost, Move, Site


class HostSites:
    """`LiveSites` of clients for which driver processes act, and of programs."""

    def __init__(self, sites: Sequence[Site], drivers: Drivers, programs: ProgramClients | None = None) -> None:
        """`programs` are those of the run; None without any."""
        self.sites = sites
        self._drivers = drivers
        self._programs = programs
        self._ended, self._paused = EndedClients(), EndedClients()

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
        raise HostError(f"{move.host} cannot move here: hosts do not re-home access links yet")

    arrive = depart
