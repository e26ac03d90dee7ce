"""Real brokers and drivers as processes on loopback addresses, unshaped, with logging on."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from emulation.drivers.driver import DriverConfig
from emulation.drivers.instructions import Start
from emulation.live_overlay import BrokerConfigs, BrokerFiles, BrokerSettings
from emulation.live_overlay.preparation import Declarations, prepared_by
from emulation.runtimes.loopback import LoopbackNetwork
from scenario.workload.operations import PlannedOperation, write_operations
from topology.link_properties import Link
from topology.model import Broker, Overlay

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 20.0
"""Time within which a broker has to listen, and all links have to be up."""
_POLL_SECONDS = 0.002


@dataclass(frozen=True, slots=True)
class Routing:
    """A routing protocol, and its options."""

    protocol: str
    options: Mapping[str, object] = field(default_factory=dict)


FIXED_TID = Routing("tid", {"publications": "fixed"})


class LoopbackBrokers:
    """Broker processes named B1, B2 and so on, which run while a `with` block lasts."""

    def __init__(
        self,
        brokers: int,
        links: Sequence[tuple[int, int]],
        directory: Path,
        routing: Routing = FIXED_TID,
        absent: Collection[str] = (),
    ) -> None:
        """`absent` brokers are neighbours of others and are not started."""
        self.addresses = {f"B{number}": f"unix:{directory}/B{number}.sock" for number in range(1, brokers + 1)}
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.start_times: list[float] = []
        """Seconds from a process's start until it listens, one number a broker."""
        self._directory = directory
        names = tuple(self.addresses)
        overlay = Overlay(
            "benchmark", tuple(map(Broker, names)), tuple(Link(names[a - 1], names[b - 1]) for a, b in links)
        )
        self._links = [link for link in overlay.links if not {link.a, link.b} & set(absent)]
        self._absent = absent
        self._configs = BrokerConfigs(
            overlay,
            BrokerSettings(
                protocol=routing.protocol,
                options=routing.options,
                prepared=prepared_by(routing.protocol, routing.options, overlay, 0, lambda: Declarations({}, {})),
            ),
            files=lambda name: BrokerFiles(
                socket=f"{directory}/{name}.sock", log=f"{directory}/{name}.jsonl", stored=f"{directory}/{name}.stored"
            ),
            addresses=LoopbackNetwork().addresses,
        )
        self._exits = ExitStack()

    def __enter__(self) -> LoopbackBrokers:
        with ExitStack() as undo:
            for name in (name for name in self.addresses if name not in self._absent):
                self._start(name, undo)
            wait_for(self._linked)
            self._exits = undo.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._exits.close()

    def _start(self, name: str, undo: ExitStack) -> None:
        config = write_json(self._directory / f"{name}.json", self._configs.of(name))
        socket = Path(self.addresses[name].removeprefix("unix:"))
        begin = time.monotonic()
        errors = undo.enter_context((self._directory / f"{name}.stderr").open("wb"))
        process = start("broker_service", config, stderr=errors)
        undo.callback(end, process)
        self.processes[name] = process
        wait_for(socket.is_socket, process)
        self.start_times.append(time.monotonic() - begin)

    def _linked(self) -> bool:
        logs = "".join((self._directory / f"{name}.jsonl").read_text() for name in self.processes)
        return logs.count('"link_up"') >= 2 * len(self._links)


class LoopbackDriver:
    """A driver process that carries out operations of clients."""

    def __init__(
        self, name: str, addresses: Mapping[str, str], operations: Iterable[PlannedOperation], directory: Path
    ) -> None:
        self.log = directory / f"{name}.jsonl"
        write_operations(directory / f"{name}.operations", operations)
        config = DriverConfig(
            name=name, variant="base", log=str(self.log), brokers=dict(addresses),
            operations=str(directory / f"{name}.operations"),
        )  # fmt: skip
        path = write_json(directory / f"{name}.json", config)
        with (directory / f"{name}.stderr").open("wb") as errors:
            self.process = start(
                "emulation.drivers.driver", path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors
            )
        if self.process.stdin is None or self.process.stdout is None:
            raise RuntimeError("a driver is controlled through pipes")
        self._commands, self._reports = self.process.stdin, self.process.stdout
        while self.read()["event"] != "ready":  # it reports each broker that it has connected to
            continue

    def read(self) -> dict[str, Any]:
        """The driver's next report. Raises `RuntimeError` with the end of its error output if it has ended."""
        line = self._reports.readline()
        if not line:
            raise RuntimeError(f"a driver ended: {self.log.with_suffix('.stderr').read_text()[-500:]}")
        report: dict[str, Any] = json.loads(line)
        return report

    def begin(self, at: int) -> None:
        """Sets the time, in nanoseconds of the monotonic clock, from which operations' times count."""
        self._commands.write(msgspec.json.encode(Start(at)) + b"\n")
        self._commands.flush()

    def end(self) -> None:
        self._commands.close()
        self.process.wait(10)

    def wait_until_notified(self, expected: int, deadline: float) -> None:
        """Waits for `expected` notifications, until `deadline` (monotonic seconds), or until none come near its end."""
        notified = -1
        while time.monotonic() < deadline:
            status = self.read()
            if status["notified"] >= expected:
                return
            if time.monotonic() > deadline - 3 and status["notified"] == notified:
                return
            notified = status["notified"]


def start(module: str, config: Path, **streams: Any) -> subprocess.Popen[bytes]:
    """Starts a module of the product as a process."""
    return subprocess.Popen([sys.executable, "-m", module, str(config)], cwd=ROOT, **streams)


def end(process: subprocess.Popen[bytes]) -> None:
    """Ends a process with SIGTERM, and with SIGKILL after five seconds."""
    process.terminate()
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def wait_for(condition: Callable[[], bool], process: subprocess.Popen[bytes] | None = None) -> None:
    """Waits until the condition holds. Raises `RuntimeError` after `START_SECONDS`, or when the process has ended."""
    deadline = time.monotonic() + START_SECONDS
    while not condition():
        if time.monotonic() > deadline or (process is not None and process.poll() is not None):
            raise RuntimeError("a broker did not start")
        time.sleep(_POLL_SECONDS)


def write_json(path: Path, value: Any) -> Path:
    path.write_bytes(msgspec.json.encode(value))
    return path
