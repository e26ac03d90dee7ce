"""The sites of a host's network, and the faults of their clients, which the drivers act out."""

from __future__ import annotations

from collections.abc import Sequence

from emulation.drivers.ended_clients import EndedClients
from emulation.drivers.instructions import Leave, Pause, Resume, Return
from emulation.run.drivers import Drivers
from topology.sites import ClientHost, Site


class HostSites:
    """`LiveSites` of clients for which driver processes act."""

    def __init__(self, sites: Sequence[Site], drivers: Drivers) -> None:
        self.sites = sites
        self._drivers = drivers
        self._ended, self._paused = EndedClients(), EndedClients()

    def end(self, host: ClientHost) -> None:
        self._drivers.instruct(Leave(tuple(self._ended.end(host))))

    def come_back(self, host: ClientHost) -> None:
        self._drivers.instruct(Return(tuple(self._ended.come_back(host))))

    def pause(self, host: ClientHost) -> None:
        self._drivers.instruct(Pause(tuple(self._paused.end(host))))

    def resume(self, host: ClientHost) -> None:
        self._drivers.instruct(Resume(tuple(self._paused.come_back(host))))
