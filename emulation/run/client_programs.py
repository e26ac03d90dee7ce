"""The clients that are programs of one's own: started here, watched here, ended here.

Each is a process of a user without rights, or a container, in a network namespace that has nothing but its loopback, at
which the relay listens (`emulation.drivers.program_relay`). So a program reaches no broker but through the relay.
Whatever a program has started ends with it.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from emulation.drivers.program_relay import PORT
from emulation.host.processes import await_end
from emulation.host.side_by_side import SideBySide
from emulation.network.model import NetworkError
from emulation.network.namespaces import run_in_namespace
from emulation.runtimes.client_programs import ProgramHost, StartedProgram
from record.contract import CONTRACT
from scenario.sections.clients import ProgramSection
from scenario.sections.timeline import Timeline

_LEAVES_WITHIN = 5.0
"""Seconds that a program gets to end after SIGTERM."""
_LAST_BYTES = 4096
_FOLDER = "programs"
"""The folder with what programs print, beside a variant's other inputs."""
_AT_ONCE = 8
"""Programs that are started or ended at a time."""


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
class ClientPrograms:
    """The programs of one variant; leaving the context ends them."""

    programs: Mapping[str, ProgramSection]
    host_of: Mapping[str, ProgramHost]
    """The host of each client's program."""
    directory: Path
    """The directory of the variant."""
    timeline: Timeline
    """In the time that really passes."""
    _outputs: dict[str, Path] = field(default_factory=dict)
    _running: dict[str, StartedProgram] = field(default_factory=dict)
    _refused: set[str] = field(default_factory=set)
    """Clients of which a refusal has been told."""
    _calls: SideBySide = field(default_factory=lambda: SideBySide(_AT_ONCE, "client programs"))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._calls.finish()
        self._calls.each(self._end, list(self._running))
        self._calls.finish()

    @property
    def running(self) -> bool:
        """True while any program runs."""
        return bool(self._running)

    def start(self) -> None:
        """Starts all programs. Raises `HostError`."""
        folder = self.directory / _FOLDER
        folder.mkdir(exist_ok=True)
        for number, client in enumerate(self.programs, 1):
            output = folder / f"{number}-{re.sub(r'[^A-Za-z0-9_-]', '_', client)[:64]}.log"
            output.write_bytes(b"")
            self._outputs[client] = output
        self._calls.each(self._start_one, self.programs)

    def ended(self) -> Iterator[ProgramEnding]:
        """The programs that have ended by themselves since the last call, or were refused what they needed."""
        for client, running in list(self._running.items()):
            if (code := running.exit_code()) is not None:
                yield ProgramEnding(client, self._in_words(client, code, self._end(client)), failed=code != 0)
            elif client not in self._refused and (refusal := running.refusal()):
                self._refused.add(client)
                yield ProgramEnding(client, refusal)

    def leave(self) -> Iterator[ProgramEnding]:
        """Ends all programs. Those that have not ended in time are killed, and returned."""
        yield from self.ended()
        for running in self._running.values():
            running.ask_to_end()
        await_end([one.identity for one in self._running.values() if one.identity is not None], _LEAVES_WITHIN)
        codes = {client: running.exit_code() for client, running in self._running.items()}
        remedies = dict(zip(codes, self._calls.each(self._end, list(codes)), strict=True))
        for client, code in codes.items():
            if code is None:
                text = f"did not end within {_LEAVES_WITHIN:g} s of SIGTERM, and was killed"
                yield ProgramEnding(client, text)
            elif code not in (0, -signal.SIGTERM, 128 + signal.SIGTERM):
                text = self._in_words(client, code, remedies[client])
                yield ProgramEnding(client, f"{text}, when it was asked to end")

    def end(self, clients: Iterable[str]) -> None:
        """Ends those of these clients that are programs and run, as a crash of their host does."""
        self._calls.each(self._end, [client for client in clients if client in self._running])

    def start_again(self, clients: Iterable[str]) -> None:
        """Starts those of these clients that are programs and do not run. Raises `HostError`."""
        ended = [client for client in clients if client in self._outputs and client not in self._running]
        self._calls.each(self._start_one, ended)

    def pause(self, clients: Iterable[str]) -> None:
        """Freezes those of these clients that are programs, with all that they have started."""
        self._calls.each(lambda running: running.pause(), self._of(clients))

    def resume(self, clients: Iterable[str]) -> None:
        """Undoes `pause`."""
        self._calls.each(lambda running: running.resume(), self._of(clients))

    def _of(self, clients: Iterable[str]) -> list[StartedProgram]:
        return [self._running[client] for client in clients if client in self._running]

    def _start_one(self, client: str) -> None:
        program, timeline = self.programs[client], self.timeline
        environment = {
            **program.environment,
            "BROKERLAB_CONTRACT": str(CONTRACT),
            "BROKERLAB_ADDRESS": f"127.0.0.1:{PORT}",
            "BROKERLAB_CLIENT": client,
            "BROKERLAB_PUBLISH_AFTER": f"{timeline.join:g}",
            "BROKERLAB_PUBLISH_FOR": f"{timeline.run:g}",
        }
        self._running[client] = self.host_of[client].start(client, program, environment, self._outputs[client])

    def _end(self, client: str) -> str:
        return self._running.pop(client).end()

    def _in_words(self, client: str, code: int, remedy: str) -> str:
        """The end of a program with this exit code, with the last line that it printed."""
        how = f"ended with exit code {code}" if code >= 0 else f"got signal {-code}"
        last = _last_line(self._outputs[client])
        return (f"{how}: {last}" if last else f"{how} without output") + (f"; {remedy}" if remedy else "")


def loopback_only(namespaces: Mapping[str, int]) -> None:
    """Brings up the loopback of fresh namespaces. Raises `NetworkError`."""
    for client, process in namespaces.items():
        done = run_in_namespace(process, ["ip", "link", "set", "dev", "lo", "up"])
        if done.returncode:
            raise NetworkError(f"cannot bring up the loopback of {client}: {' '.join(done.stderr.split())}")


def _last_line(output: Path) -> str:
    with output.open("rb") as file:
        file.seek(max(0, file.seek(0, 2) - _LAST_BYTES))
        lines = file.read().decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else ""
