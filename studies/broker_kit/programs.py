"""Brokers as the kit starts them: programs on this host, or containers (`containers`)."""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import signal
import socket
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from emulation.host.processes import RUN_VARIABLE, ProcessIdentity, processes_of_run
from record.errors import HostError
from studies.broker_kit.configuration import CONTRACT, Configuration

END_WITHIN = 10.0
"""Seconds after which a broker that was asked to stop is killed."""
_LOOK_INTERVAL = 0.01
_LAST_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Ending:
    """The way in which a broker's process ended."""

    code: int
    """Exit code; a negative number is that of the signal that ended the process."""
    last_line: str
    """The last line that the process wrote to standard error."""

    def __str__(self) -> str:
        how = f"it ended with exit code {self.code}" if self.code >= 0 else f"it ended by signal {-self.code}"
        return f"{how}: {self.last_line}" if self.last_line else f"{how}, without a word on standard error"


@dataclass(frozen=True, slots=True)
class Files:
    """Paths of a broker's files, as the broker sees them, and as the kit does."""

    socket: str
    log: str
    stored: str
    socket_here: Path
    log_here: Path


class Program(Protocol):
    """A broker that was started."""

    async def ending(self, within: float) -> Ending | None:
        """Waits for the broker's end; None if it still runs after `within` seconds."""

    def signal(self, number: signal.Signals) -> None:
        """Sends a signal to its process."""

    def memory(self) -> int:
        """Bytes that it occupies; 0 once it has ended."""

    def left_over(self) -> Sequence[str]:
        """Processes that it has started and that still run."""


class Host(Protocol):
    """A place where brokers are started."""

    confined: bool
    """True when brokers have a root that is read-only and a user of their own."""

    def files(self, broker: str) -> Files:
        """Makes a broker's directories, once, and names its files."""

    async def start(self, broker: str, configuration: str) -> Program:
        """Starts a broker with this broker.json."""

    def make_socket(self) -> socket.socket:
        """A TCP socket in the network of the brokers."""

    async def close(self) -> None:
        """Ends and removes whatever was started."""


class CommandHost:
    """Starts a command on this host, as this user and in this network."""

    confined = False

    def __init__(self, command: Sequence[str], directory: Path, environment: Mapping[str, str]) -> None:
        self._command = command
        self._directory = directory
        self._environment = environment
        self._programs: list[CommandProgram] = []

    def files(self, broker: str) -> Files:
        place = self._directory / broker
        (place / "stored").mkdir(parents=True, exist_ok=True)
        (place / "run").mkdir(exist_ok=True)
        log = place / f"{broker}.jsonl"
        log.touch()
        path = place / "run" / "broker.sock"
        return Files(str(path), str(log), str(place / "stored" / "state"), path, log)

    async def start(self, broker: str, configuration: str) -> CommandProgram:
        self.files(broker)
        file = self._directory / broker / "broker.json"
        file.write_text(configuration, encoding="utf-8")
        mark = secrets.token_hex(8)
        errors = self._directory / broker / "stderr"
        environment = {
            "PATH": os.environ.get("PATH", os.defpath), "BROKERLAB_CONTRACT": str(CONTRACT), RUN_VARIABLE: mark,
            **self._environment,
        }  # fmt: skip
        try:
            with errors.open("wb") as stream:
                process = subprocess.Popen(  # noqa: ASYNC220 - it takes a millisecond
                    [*_tied(), *self._command, str(file)], stdin=subprocess.DEVNULL, stdout=stream, stderr=stream,
                    env=environment, start_new_session=True,
                )  # fmt: skip
        except OSError as error:
            raise HostError(f"cannot start {self._command[0]}: {error.strerror}") from error
        program = CommandProgram(process, errors, mark)
        self._programs.append(program)
        return program

    def make_socket(self) -> socket.socket:
        return socket.socket(socket.AF_INET, socket.SOCK_STREAM)

    async def close(self) -> None:
        for program in self._programs:
            program.remove()
        self._programs.clear()


class CommandProgram:
    """A process on this host."""

    def __init__(self, process: subprocess.Popen[bytes], errors: Path, mark: str) -> None:
        self._process = process
        self._errors = errors
        self._mark = mark

    async def ending(self, within: float) -> Ending | None:
        deadline = asyncio.get_running_loop().time() + within
        while (code := self._process.poll()) is None:
            if asyncio.get_running_loop().time() >= deadline:
                return None
            await asyncio.sleep(_LOOK_INTERVAL)
        return Ending(code, last_line(self._errors.read_bytes()[-_LAST_BYTES:]))

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def memory(self) -> int:
        return resident(self._process.pid)

    def left_over(self) -> Sequence[str]:
        return [*filter(None, map(_name, self._others()))]

    def remove(self) -> None:
        """Kills it, and what it has started."""
        self._process.kill()
        self._process.wait()
        for process in self._others():
            process.kill()

    def _others(self) -> list[ProcessIdentity]:
        """Other processes with its mark in their environment."""
        return [process for process in processes_of_run(self._mark) if process.pid != self._process.pid]


def _name(process: ProcessIdentity) -> str:
    """The name of a process; empty if it has ended meanwhile."""
    try:
        return Path(f"/proc/{process.pid}/comm").read_text().strip()
    except OSError:
        return ""


def _tied() -> list[str]:
    """Command prefix that ties a program to this process, so that it does not outlive a kit that is killed."""
    return ["setpriv", "--pdeathsig", "KILL", "--"] if shutil.which("setpriv") else []


def last_line(written: bytes) -> str:
    """The last line of an output that is not empty."""
    lines = [line.strip() for line in written.decode(errors="replace").splitlines() if line.strip()]
    return lines[-1] if lines else ""


def resident(pid: int) -> int:
    """Bytes of memory that a process occupies; 0 for one that is not there."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def configured(broker: str, files: Files, protocol: str) -> Configuration:
    """The configuration of the first start of a broker without links, at level 2."""
    return Configuration(broker, files.socket, protocol, stored=files.stored)
