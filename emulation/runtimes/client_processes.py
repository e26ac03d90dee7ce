"""Client programs as processes of this host, of a user without rights. Whatever a program has started ends with it."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from emulation.host.journal import Journal, Resource
from emulation.host.processes import ProcessIdentity, identify, processes_started_with
from emulation.host.run_paths import RunPaths
from emulation.runtimes.client_programs import LOG_BYTES, field_of, name_of
from emulation.runtimes.foreign import end_marked, environment_without_ours
from emulation.runtimes.interface import Resources
from emulation.runtimes.process import unprivileged
from record.errors import HostError
from scenario.sections.clients import ProgramSection

_PROGRAM_VARIABLE = "BROKERLAB_PROGRAM"
"""Variable that the processes of one program carry, so that none of them outlives it."""


@dataclass(slots=True)
class ClientProcess:
    """A `StartedProgram` of this host."""

    process: subprocess.Popen[bytes]
    identity: ProcessIdentity | None
    mark: str
    """The value of the variable that its processes carry."""
    name: str
    journal: Journal

    def exit_code(self) -> int | None:
        return self.process.poll()

    def refusal(self) -> str:
        return ""

    def ask_to_end(self) -> None:
        if self.identity is not None:
            self.identity.kill(signal.SIGTERM)
            self.identity.kill(signal.SIGCONT)

    def pause(self) -> None:
        for process in self._processes():
            process.kill(signal.SIGSTOP)

    def resume(self) -> None:
        for process in self._processes():
            process.kill(signal.SIGCONT)

    def end(self) -> str:
        self.process.kill()
        self.process.wait()
        end_marked(_PROGRAM_VARIABLE, self.mark, self.process.pid)
        self.journal.removed(Resource.PROCESS, self.name)
        return ""

    def _processes(self) -> Iterator[ProcessIdentity]:
        return processes_started_with(_PROGRAM_VARIABLE, self.mark)


@dataclass(frozen=True, slots=True)
class ClientProcesses:
    """A `ProgramHost` of programs of this host."""

    paths: RunPaths
    journal: Journal
    namespaces: Mapping[str, int]
    """A process in the network namespace of each client's program."""

    def start(
        self, client: str, program: ProgramSection, environment: Mapping[str, str], output: Path
    ) -> ClientProcess:
        name, defaults, mark = name_of(client), Resources(), f"{self.paths.run_id}/{client}"
        given = program.command or ()
        command = [
            "nsenter", f"--net=/proc/{self.namespaces[client]}/ns/net", "--",
            "prlimit", f"--data={program.memory or defaults.memory}",
            f"--nproc={program.processes or defaults.processes}", f"--fsize={LOG_BYTES}", "--core=0", "--",
            *unprivileged(self.paths, name, *(Path(part) for part in given if part.startswith("/"))), "--",
            *given,
        ]  # fmt: skip
        variables = {**environment_without_ours(self.paths.run_id), **environment, _PROGRAM_VARIABLE: mark}
        self.journal.creating(Resource.PROCESS, name)
        try:
            with output.open("ab") as printed:
                process = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=printed, stderr=printed,
                    env=variables, cwd="/", start_new_session=True,
                )  # fmt: skip
        except OSError as error:
            raise HostError(f"{field_of(client)}: cannot start it: {error}") from error
        self.journal.started(name, process.pid)
        return ClientProcess(process, identify(process.pid), mark, name, self.journal)
