"""The hands on a variant: what its holder can have done to the deployment, besides what every run does to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from emulation.held.hold import Hold
from emulation.held.requests import BrokerPlace, LinkPlace
from emulation.host.processes import ProcessIdentity
from emulation.network.network import EmulatedNetwork
from emulation.planning.plan import PUBLISHERS, SUBSCRIBERS
from emulation.run.drivers import Drivers
from record.files import log_files
from scenario.workload.operations import OperationKind, PlannedOperation
from topology.link_properties import BrokerId

SUBSCRIBING = frozenset({OperationKind.SUBSCRIBE, OperationKind.UNSUBSCRIBE, OperationKind.COMPOSE})


class Hands(Protocol):
    """Acts on one variant for whoever holds it."""

    @property
    def hold(self) -> Hold: ...

    def issue(self, operation: PlannedOperation) -> None:
        """Has a client do something at its time, which is ahead."""

    def end_workload(self, at: int) -> None:
        """Has clients do nothing more from this time on, nanoseconds since the begin of the workload."""

    def places(self) -> list[BrokerPlace]:
        """The brokers, and the processes by which their surroundings are entered."""

    def log_bytes(self) -> int:
        """The size of all logs."""


class HostHands:
    """`Hands` on a variant that runs on this host."""

    def __init__(
        self,
        hold: Hold,
        *,
        drivers: Drivers,
        network: EmulatedNetwork,
        processes: Callable[[], Mapping[BrokerId, ProcessIdentity]],
        logs: Path,
        brokers: list[BrokerId],
    ) -> None:
        """`processes` gives those of the brokers that run."""
        self.hold = hold
        self._drivers = drivers
        self._network = network
        self._processes = processes
        self._logs = logs
        self._brokers = brokers

    def issue(self, operation: PlannedOperation) -> None:
        self._drivers.issue(SUBSCRIBERS if operation.operation in SUBSCRIBING else PUBLISHERS, operation)

    def end_workload(self, at: int) -> None:
        self._drivers.end_workload(at)

    def places(self) -> list[BrokerPlace]:
        running = self._processes()
        return [
            BrokerPlace(
                name=broker,
                namespace=self._network.pid(broker),
                process=running[broker].pid if broker in running and running[broker].alive else None,
                links=[LinkPlace(end.neighbour, end.interface) for end in self._network.ends(broker)],
            )
            for broker in self._brokers
        ]

    def log_bytes(self) -> int:
        return sum(path.stat().st_size for path in log_files(self._logs))
