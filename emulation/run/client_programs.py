"""The clients that are programs of one's own: started here, watched here, ended here.

Each is a process of a user without rights, in a network namespace that has nothing but its loopback, at which the relay
listens (`emulation.drivers.program_relay`). So a program reaches no broker but through the relay. Whatever a program
has started ends with it.
"""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from emulation.drivers.program_relay import PORT
from emulation.host.journal import Journal, Resource
from emulation.host.processes import ProcessIdentity, await_end, identify, processes_started_with
from emulation.host.run_paths import RunPaths
from emulation.network.model import NetworkError
from emulation.network.namespaces import run_in_namespace
from emulation.runtimes.foreign import end_marked, environment_without_ours
from emulation.runtimes.interface import Resources
from emulation.runtimes.process import unprivileged
from record.contract import CONTRACT
from record.errors import HostError
from scenario.sections.clients import ProgramSection
from scenario.sections.timeline import Timeline

_PROGRAM_VARIABLE = "BROKERLAB_PROGRAM"
"""Variable that the processes of one program carry, so that none of them outlives it."""
_LEAVES_WITHIN = 5.0
"""Seconds that a program gets to end after SIGTERM."""
_LOG_BYTES = 64 << 20
"""Bytes that a file of a program may have, and so what it prints."""
_LAST_BYTES = 4096
_FOLDER = "programs"
"""The folder with what programs print, beside a variant's other inputs."""


@dataclass(frozen=True, slots=True)
class ProgramEnding:
    """The end of a client program before the clients left, or one that did not come."""

    client: str
    text: str
    """A sentence without its subject, which is the program."""
    failed: bool = True
    """False of a program that ended in order, as a client may at any time."""

    def __str__(self) -> str:
        return f"client program {self.client} {self.text}"


@dataclass(slots=True)
class _Running:
    process: subprocess.Popen[bytes]
    output: Path
    identity: ProcessIdentity | None


@dataclass(frozen=True, slots=True)
class _Place:
    """Everything that a start of a program needs."""

    namespace: int
    """A process in its network namespace."""
    output: Path


@dataclass(slots=True)
class ClientPrograms:
    """The programs of one variant; leaving the context ends them."""

    programs: Mapping[str, ProgramSection]
    paths: RunPaths
    variant: str
    timeline: Timeline
    """In the time that really passes."""
    journal: Journal
    _places: dict[str, _Place] = field(default_factory=dict)
    _running: dict[str, _Running] = field(default_factory=dict)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for client in list(self._running):
            self._end(client)

    @property
    def running(self) -> bool:
        """True while any program runs."""
        return bool(self._running)

    def start(self, namespaces: Mapping[str, int]) -> None:
        """Starts all programs, each in the namespace of the given process. Raises `HostError`."""
        directory = self.paths.variant(self.variant) / _FOLDER
        directory.mkdir(exist_ok=True)
        for number, (client, program) in enumerate(self.programs.items(), 1):
            output = directory / f"{number}-{re.sub(r'[^A-Za-z0-9_-]', '_', client)[:64]}.log"
            output.write_bytes(b"")
            self._places[client] = _Place(namespaces[client], output)
            self._start_one(client, program)

    def ended(self) -> Iterator[ProgramEnding]:
        """The programs that have ended by themselves since the last call."""
        for client, running in list(self._running.items()):
            if (code := running.process.poll()) is not None:
                self._end(client)
                yield ProgramEnding(client, _in_words(code, running.output), failed=code != 0)

    def leave(self) -> Iterator[ProgramEnding]:
        """Ends all programs. Those that have not ended in time are killed, and returned."""
        yield from self.ended()
        for running in self._running.values():
            if running.identity is not None:
                running.identity.kill(signal.SIGTERM)
                running.identity.kill(signal.SIGCONT)
        await_end([one.identity for one in self._running.values() if one.identity is not None], _LEAVES_WITHIN)
        for client, running in list(self._running.items()):
            hangs = running.process.poll() is None
            self._end(client)
            if hangs:
                text = f"did not end within {_LEAVES_WITHIN:g} s of SIGTERM, and was killed"
                yield ProgramEnding(client, text)
            elif (code := running.process.returncode) not in (0, -signal.SIGTERM, 128 + signal.SIGTERM):
                yield ProgramEnding(client, f"{_in_words(code, running.output)}, when it was asked to end")

    def end(self, clients: Iterable[str]) -> None:
        """Ends those of these clients that are programs and run, as a crash of their host does."""
        for client in clients:
            if client in self._running:
                self._end(client)

    def start_again(self, clients: Iterable[str]) -> None:
        """Starts those of these clients that are programs and do not run. Raises `HostError`."""
        for client in clients:
            if client in self._places and client not in self._running:
                self._start_one(client, self.programs[client])

    def pause(self, clients: Iterable[str]) -> None:
        """Freezes those of these clients that are programs, with all that they have started."""
        for process in self._processes_of(clients):
            process.kill(signal.SIGSTOP)

    def resume(self, clients: Iterable[str]) -> None:
        """Undoes `pause`."""
        for process in self._processes_of(clients):
            process.kill(signal.SIGCONT)

    def _processes_of(self, clients: Iterable[str]) -> Iterator[ProcessIdentity]:
        for client in clients:
            if client in self._running:
                yield from processes_started_with(_PROGRAM_VARIABLE, self._mark(client))

    def _start_one(self, client: str, program: ProgramSection) -> None:
        name, defaults, place = _name(client), Resources(), self._places[client]
        command = [
            "nsenter", f"--net=/proc/{place.namespace}/ns/net", "--",
            "prlimit", f"--data={program.memory or defaults.memory}",
            f"--nproc={program.processes or defaults.processes}", f"--fsize={_LOG_BYTES}", "--core=0", "--",
            *unprivileged(self.paths, name, *(Path(part) for part in program.command if part.startswith("/"))), "--",
            *program.command,
        ]  # fmt: skip
        self.journal.creating(Resource.PROCESS, name)
        try:
            with place.output.open("ab") as printed:
                process = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=printed, stderr=printed,
                    env=self._environment(client, program), cwd="/", start_new_session=True,
                )  # fmt: skip
        except OSError as error:
            raise HostError(f"clients.programs.{client}: cannot start it: {error}") from error
        self.journal.started(name, process.pid)
        self._running[client] = _Running(process, place.output, identify(process.pid))

    def _environment(self, client: str, program: ProgramSection) -> dict[str, str]:
        timeline = self.timeline
        return {
            **environment_without_ours(self.paths.run_id),
            **program.environment,
            "BROKERLAB_CONTRACT": str(CONTRACT),
            "BROKERLAB_ADDRESS": f"127.0.0.1:{PORT}",
            "BROKERLAB_CLIENT": client,
            "BROKERLAB_PUBLISH_AFTER": f"{timeline.join:g}",
            "BROKERLAB_PUBLISH_FOR": f"{timeline.run:g}",
            _PROGRAM_VARIABLE: self._mark(client),
        }

    def _mark(self, client: str) -> str:
        return f"{self.paths.run_id}/{client}"

    def _end(self, client: str) -> None:
        running = self._running.pop(client)
        running.process.kill()
        running.process.wait()
        end_marked(_PROGRAM_VARIABLE, self._mark(client), running.process.pid)
        self.journal.removed(Resource.PROCESS, _name(client))


def loopback_only(namespaces: Mapping[str, int]) -> None:
    """Brings up the loopback of fresh namespaces. Raises `NetworkError`."""
    for client, process in namespaces.items():
        done = run_in_namespace(process, ["ip", "link", "set", "dev", "lo", "up"])
        if done.returncode:
            raise NetworkError(f"cannot bring up the loopback of {client}: {' '.join(done.stderr.split())}")


def _name(client: str) -> str:
    """The program's name in the journal, and among users."""
    return f"client program {client}"


def _in_words(code: int, output: Path) -> str:
    """The end of a program with this exit code, with the last line that it printed."""
    how = f"ended with exit code {code}" if code >= 0 else f"got signal {-code}"
    last = _last_line(output)
    return f"{how}: {last}" if last else f"{how} without output"


def _last_line(output: Path) -> str:
    with output.open("rb") as file:
        file.seek(max(0, file.seek(0, 2) - _LAST_BYTES))
        lines = file.read().decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else ""
