"""Broker processes on loopback addresses, with nothing between them: needs no privileges."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

import broker_service
from broker_service.config import BrokerConfig, LinkConfig
from emulation.drivers.driver import DriverConfig
from emulation.host.journal import Journal
from emulation.run.drivers import Drivers
from emulation.runtimes.host_overlay import BROKER_PORT
from emulation.workload.operations import Operation, write_operations
from record.errors import HostError
from record.files import JOURNAL, LOGS, log_file
from topology import BrokerId

RUN_ID = "calibration"
"""Marks the processes started here."""
VARIANT = "base"

_SOURCE_ROOT = Path(broker_service.__file__).parent.parent
_ENDS_WITH_US = ("setpriv", "--pdeathsig", "TERM", "--") if shutil.which("setpriv") else ()
"""Command prefix: even a calibration that is killed leaves no broker behind."""
_START_WITHIN = 20.0
_END_WITHIN = 5.0
_LEAD = 0.3
"""Seconds between telling the drivers when to begin and that moment."""
_LOOK_INTERVAL = 0.01


class LoopbackOverlay:
    """Brokers joined by these links. A context manager."""

    def __init__(self, links: Sequence[tuple[BrokerId, BrokerId]], directory: Path) -> None:
        """Files go to `directory`, which is to be empty."""
        self.names = sorted({end for ends in links for end in ends})
        self._ends = links
        self.directory = directory
        self.logs = directory / LOGS
        self.logs.mkdir()
        self._journal = Journal(directory / JOURNAL)
        self._brokers: dict[str, subprocess.Popen[bytes]] = {}
        self._exits = ExitStack()
        self._exits.callback(self._journal.close)

    def __enter__(self) -> Self:
        with ExitStack() as undo:
            undo.push(self._exits)
            for name in self.names:
                self._start(name, undo)
            self._await(lambda: all(map(self._linked, self.names)))
            self._exits = undo.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._exits.close()

    def log(self, node: str) -> Path:
        """Where a broker or a driver writes its log."""
        return log_file(self.logs, node)

    def work_time(self, broker: str) -> int:
        """Nanoseconds of processor time that a broker's process has used so far, in all its threads."""
        threads = Path(f"/proc/{self._brokers[broker].pid}/task")
        return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads.iterdir())

    def drive(self, operations: Mapping[str, Sequence[Operation]]) -> Drivers:
        """Drivers, by name, that have connected and will execute their operations when they are told to `begin`."""
        configs = [(name, self._write_driver(name, share)) for name, share in operations.items()]
        drivers = Drivers(configs, RUN_ID, self._journal)
        try:
            self._await(lambda: drivers.ready)
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

    def _start(self, name: str, undo: ExitStack) -> None:
        config = BrokerConfig(
            id=name,
            incarnation=1,
            protocol="tid",
            options={"publications": "fixed"},
            listen=(self._address(name),),
            links=tuple(self._links(name)),
            log=str(self.log(name)),
            variant=VARIANT,
        )
        path = self._write(name, config)
        with path.with_suffix(".stderr.log").open("wb") as errors:
            process = subprocess.Popen(
                [*_ENDS_WITH_US, sys.executable, "-m", "broker_service.grpc_shell.server", str(path)],
                stdin=subprocess.DEVNULL, stdout=errors, stderr=errors, cwd=_SOURCE_ROOT, start_new_session=True,
            )  # fmt: skip
        undo.callback(_end, process)
        self._brokers[name] = process

    def _links(self, broker: BrokerId) -> Iterator[LinkConfig]:
        for number, ends in enumerate(self._ends, 1):
            if broker in ends:
                side = ends.index(broker)
                addresses = [f"127.0.{number}.{end}:{BROKER_PORT}" for end in (1, 2)]
                yield LinkConfig(
                    neighbour=ends[1 - side], local=addresses[side], remote=addresses[1 - side], dial=side == 0
                )

    def _linked(self, broker: BrokerId) -> bool:
        expected = sum(broker in ends for ends in self._ends)
        return self.log(broker).is_file() and self.log(broker).read_bytes().count(b'"link_up"') >= expected

    def _address(self, broker: str) -> str:
        return f"unix:{self.directory}/{broker}.sock"

    def _write(self, name: str, config: BrokerConfig | DriverConfig) -> Path:
        path = self.directory / f"{name}.json"
        path.write_bytes(msgspec.json.encode(config))
        return path

    def _write_driver(self, name: str, operations: Sequence[Operation]) -> Path:
        file = self.directory / f"{name}.operations.jsonl"
        write_operations(file, operations)
        return self._write(
            name,
            DriverConfig(
                name=name,
                variant=VARIANT,
                log=str(self.log(name)),
                brokers={broker: self._address(broker) for broker in {operation.broker for operation in operations}},
                operations=str(file),
            ),
        )

    def _await(self, condition: Callable[[], bool]) -> None:
        """Waits for a condition while all brokers live. Raises `HostError`."""
        deadline = time.monotonic() + _START_WITHIN
        while not condition():
            for name, process in self._brokers.items():
                if process.poll() is not None:
                    said = (self.directory / f"{name}.stderr.log").read_text(errors="replace").strip().splitlines()
                    raise HostError(f"broker {name} ended: {said[-1] if said else 'it said nothing'}")
            if time.monotonic() > deadline:
                raise HostError(f"brokers did not start and connect within {_START_WITHIN:.0f} s")
            time.sleep(_LOOK_INTERVAL)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_END_WITHIN)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
