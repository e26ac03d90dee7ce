"""An overlay on loopback addresses with driver processes, whose brokers' processor time can be read."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from emulation.drivers.driver import DriverConfig
from emulation.host.journal import Journal
from emulation.live_overlay import BrokerSettings, UnsettledError
from emulation.run.drivers import Drivers
from emulation.runtimes.host_overlay import HostOverlay
from emulation.runtimes.loopback import loopback_overlay
from emulation.runtimes.patience import Patience
from record.errors import HostError
from record.files import LOGS, log_file
from scenario.workload.operations import PlannedOperation, write_operations
from topology.link_properties import BrokerId, Link
from topology.model import Broker, Overlay

RUN_ID = "calibration"
"""Marks the processes started here."""
SETTINGS = BrokerSettings(protocol="tid", options={"publications": "fixed"})

_START_WITHIN = 20.0
_END_WITHIN = 5.0
_LEAD = 0.3
"""Seconds between giving the drivers the start of the workload and that moment."""
_LOOK_INTERVAL = 0.01


class LoopbackOverlay:
    """Brokers joined by these links. A context manager."""

    def __init__(self, links: Sequence[tuple[BrokerId, BrokerId]], directory: Path) -> None:
        """Files go to `directory`, which must be empty."""
        self.names = sorted({end for ends in links for end in ends})
        self.directory = directory
        self.logs = directory / LOGS
        self._overlay = Overlay(RUN_ID, tuple(map(Broker, self.names)), tuple(Link(a, b) for a, b in links))
        self._exits = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as undo:
            try:
                self._running: HostOverlay = undo.enter_context(
                    loopback_overlay(self._overlay, SETTINGS, RUN_ID, self.directory, connect_within=_START_WITHIN)
                )
            except UnsettledError as error:
                raise HostError(f"brokers did not start and connect: {error}") from error
            self._journal = Journal(self.directory / "drivers.jsonl")
            undo.callback(self._journal.close)
            self._processes = self._running.brokers.processes()
            self._exits = undo.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._exits.close()

    def log(self, node: str) -> Path:
        """Path of a broker's or a driver's log."""
        return log_file(self.logs, node)

    def work_time(self, broker: str) -> int:
        """Nanoseconds of processor time that a broker's process has used so far, in all its threads."""
        threads = Path(f"/proc/{self._processes[broker].pid}/task")
        return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads.iterdir())

    def drive(self, operations: Mapping[str, Sequence[PlannedOperation]]) -> Drivers:
        """Drivers, by name, that have connected and will execute their operations once `begin` is called."""
        configs = [(name, self._write_driver(name, share)) for name, share in operations.items()]
        drivers = Drivers(configs, RUN_ID, self._journal)
        try:
            self._await_connected(drivers)
        except BaseException:
            drivers.end(_END_WITHIN)
            raise
        return drivers

    @staticmethod
    def begin(drivers: Drivers) -> float:
        """Has the operations begin shortly; returns the moment, in seconds of the monotonic clock."""
        moment = time.monotonic_ns() + round(_LEAD * 1e9)
        drivers.begin(moment)
        return moment / 1e9

    # Inside

    def _write(self, name: str, config: DriverConfig) -> Path:
        path = self.directory / f"{name}.json"
        path.write_bytes(msgspec.json.encode(config))
        return path

    def _write_driver(self, name: str, operations: Sequence[PlannedOperation]) -> Path:
        file = self.directory / f"{name}.operations.jsonl"
        write_operations(file, operations)
        return self._write(
            name,
            DriverConfig(
                name=name,
                variant=SETTINGS.variant,
                log=str(self.log(name)),
                brokers={
                    broker: self._running.brokers.addresses[broker]
                    for broker in {operation.broker for operation in operations}
                },
                operations=str(file),
            ),
        )

    def _await_connected(self, drivers: Drivers) -> None:
        """Waits for the drivers' sessions while all brokers run. Raises `HostError`."""
        patience = Patience(_START_WITHIN)
        while not drivers.ready:
            if endings := self._running.brokers.ended():
                raise HostError(str(endings[0]))
            if patience.has_ended(drivers.connected):
                raise HostError(f"clients did not connect to {', '.join(drivers.awaited)}")
            time.sleep(_LOOK_INTERVAL)
