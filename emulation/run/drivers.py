"""The driver processes, which act for all clients: started here, watched here, ended here."""

from __future__ import annotations

import queue
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from emulation.drivers.instructions import Depart, End, Further, Instruction, Start
from emulation.drivers.status import Connecting, DriverStatus, Left, Report, Told
from emulation.host.environment import environment_of_node
from emulation.host.journal import Journal, Resource
from emulation.host.processes import end_child
from record.errors import HostError
from scenario.workload.operations import PlannedOperation

DRIVER_PROGRAM = "emulation.drivers.driver"
"""The module that drivers execute."""
_END_WITHIN = 10.0
"""Seconds that a driver gets to write its log down."""
_LEAVE_WITHIN = 10.0
"""Seconds that clients get to end their sessions in order."""
_SOURCE_ROOT = Path(__file__).resolve().parents[2]


class DriverProcess:
    """One driver. Its standard output is read by a thread of its own."""

    def __init__(self, name: str, config: Path, run_id: str, journal: Journal, program: str = DRIVER_PROGRAM) -> None:
        """`program` is the module that it executes."""
        self.name = name
        self.status = DriverStatus()
        self.connecting = Connecting()
        """Latest report of the driver while it connects."""
        self.begun = threading.Event()
        """Event that is set by the first report, and by its end."""
        self.told: queue.SimpleQueue[Told] = queue.SimpleQueue()
        """Remarks on client programs that nobody has taken."""
        self.left: queue.SimpleQueue[Left] = queue.SimpleQueue()
        """Reports that clients have left their brokers, which nobody has taken."""
        self.ready = threading.Event()
        """Event that is set when the driver has connected to its brokers, or has ended."""
        self._journal = journal
        self._errors = config.with_suffix(".stderr.log")
        self._resource = f"driver {config}"
        journal.creating(Resource.PROCESS, self._resource)
        with self._errors.open("wb") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", program, str(config.absolute())],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, cwd=_SOURCE_ROOT,
                env=environment_of_node(run_id), start_new_session=True,
            )  # fmt: skip
        journal.started(self._resource, self._process.pid)
        self._reader = threading.Thread(target=self._read, name=f"driver {name}", daemon=True)
        self._reader.start()

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def instruct(self, instruction: Instruction) -> None:
        """Passes an instruction on. Raises `HostError` when the driver has ended."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(msgspec.json.encode(instruction) + b"\n")
            self._process.stdin.flush()
        except OSError as error:
            raise HostError(self.exit_report()) from error

    def ask_to_end(self) -> None:
        """Has the process flush its log and end."""
        assert self._process.stdin is not None
        if not self._process.stdin.closed:
            try:
                self._process.stdin.close()
            except BrokenPipeError:
                return

    def end(self, within: float) -> bool:
        """Waits for its end, and kills it after `within` seconds. Whether it ended in order."""
        end_child(self._process, within)
        self._reader.join(1.0)
        self._journal.removed(Resource.PROCESS, self._resource)
        return self._process.returncode == 0

    def exit_report(self) -> str:
        """Exit code and last output of a driver that ended too early, in one line."""
        lines = self._errors.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        output = f": {lines[-1]}" if lines else " without output"
        return f"driver {self.name} ended with exit code {self._process.poll()}{output} (all of it: {self._errors})"

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                try:
                    report = msgspec.json.decode(line, type=Report)
                except msgspec.DecodeError:  # printed by a library, or cut short by the driver's end
                    continue
                if isinstance(report, DriverStatus):
                    self.status = report
                elif isinstance(report, Connecting):
                    self.connecting = report
                elif isinstance(report, Told):
                    self.told.put(report)
                elif isinstance(report, Left):
                    self.left.put(report)
                else:
                    self.ready.set()
                self.begun.set()
        self.begun.set()
        self.ready.set()


class Drivers:
    """All drivers of a variant; leaving the context ends them."""

    def __init__(self, configs: Sequence[tuple[str, Path]], run_id: str, journal: Journal) -> None:
        self._processes: list[DriverProcess] = []
        for name, config in configs:
            self._processes.append(DriverProcess(name, config, run_id, journal))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end(_END_WITHIN)

    @property
    def ready(self) -> bool:
        """True once all drivers are connected. Raises `HostError` when one ended instead."""
        self.check()
        return all(process.ready.is_set() for process in self._processes)

    @property
    def connected(self) -> int:
        """Sessions that the drivers have opened so far."""
        return sum(process.connecting.connected for process in self._processes)

    @property
    def awaited(self) -> list[str]:
        """Brokers that have not answered a driver yet, a few of each driver."""
        return sorted({broker for process in self._processes for broker in process.connecting.waiting})

    @property
    def names(self) -> list[str]:
        return [process.name for process in self._processes]

    @property
    def status(self) -> DriverStatus:
        return DriverStatus.total([process.status for process in self._processes])

    def check(self) -> None:
        """Raises `HostError` when a driver is gone."""
        for process in self._processes:
            if not process.running:
                raise HostError(process.exit_report())

    def begin(self, start: int, clock_offset: int = 0) -> None:
        for process in self._processes:
            process.instruct(Start(start, clock_offset))

    def instruct(self, instruction: Instruction) -> None:
        """Passes an instruction on to all. Raises `HostError` when one has ended."""
        for process in self._processes:
            process.instruct(instruction)

    def depart(self, departure: Depart) -> None:
        """Has clients leave their brokers; returns when they have. Raises `HostError`."""
        self.instruct(departure)
        for process in self._processes:
            try:
                process.left.get(timeout=_LEAVE_WITHIN)
            except queue.Empty:
                self.check()
                raise HostError(f"driver {process.name} does not let {', '.join(departure.clients)} leave") from None

    def issue(self, name: str, operation: PlannedOperation) -> None:
        """Has the driver of this name issue a further operation."""
        for process in self._processes:
            if process.name == name:
                process.instruct(Further(operation))

    def end_workload(self, at: int) -> None:
        """Has all issue nothing from this time on, nanoseconds since the start of the workload."""
        for process in self._processes:
            process.instruct(End(at))

    def stop(self, name: str) -> None:
        """Ends the driver of this name, where there is one."""
        for process in self._processes:
            if process.name == name:
                process.end(_END_WITHIN)
        self._processes = [process for process in self._processes if process.name != name]

    def end(self, within: float) -> None:
        """Ends all, side by side; each flushes its log first."""
        for process in self._processes:
            process.ask_to_end()
        for process in self._processes:
            process.end(within)
        self._processes.clear()
