"""Brokers as plain processes, each in the network namespace of its Mininet host. Needs root and Mininet, but no Docker.

The processes give up root: each broker is a user of its own without capabilities, with bounded memory, processes and
sizes of files, without a way to gain privileges, and with an environment of what it needs.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

import broker_service
from broker_service.routing.program.references import own_paths
from emulation.host.environment import environment_of_node
from emulation.host.journal import Journal, Resource
from emulation.host.processes import ProcessIdentity, await_end, await_stop, identify
from emulation.host.run_paths import RunPaths
from emulation.live_overlay.configuration import BrokerFiles
from emulation.runtimes.foreign import end_all_of, environment_of_process, keeps_log, program_of, remedy_for
from emulation.runtimes.interface import BROKER_PROGRAM, EXIT_CODE_WITHIN, LAST_LINES, Ending, Launch
from emulation.runtimes.program_places import program_paths
from emulation.runtimes.stored import STORED_FILE, StorageDirectories
from record.errors import HostError
from record.files import log_file
from topology.link_properties import BrokerId

_LAST_BYTES = 64 << 10
_SOURCE_ROOT = Path(broker_service.__file__).parent.parent


class Confinement(Protocol):
    """The user, rights, limits and namespaces that broker processes get."""

    def provide(self, launch: Launch) -> int:
        """Makes the broker's log, where the broker cannot, and returns the user that the broker runs as."""

    def prefix(self, launch: Launch, namespace: int) -> list[str]:
        """Command that starts the broker's; `namespace` is a process in its network namespace."""


class Unprivileged:
    """The confinement described by the module."""

    def __init__(self, run_paths: RunPaths) -> None:
        self._run_paths = run_paths

    def provide(self, launch: Launch) -> int:
        if keeps_log(launch.resources.foreign):
            self._run_paths.provide_log(launch.broker)
        return self._run_paths.users.of(launch.broker)

    def prefix(self, launch: Launch, namespace: int) -> list[str]:
        resources = launch.resources
        return [
            "nsenter", f"--net=/proc/{namespace}/ns/net", "--",
            "prlimit", f"--data={resources.memory}", f"--nproc={resources.processes}",
            f"--fsize={resources.log_bytes}", "--core=0", "--",
            *unprivileged(self._run_paths, launch.broker, *_paths_of(launch)), "--",
        ]  # fmt: skip


class ProcessRuntime:
    """A runtime that starts brokers as plain processes. One object serves one run."""

    name = "process"

    def __init__(self, run_paths: RunPaths, journal: Journal, confinement: Confinement | None = None) -> None:
        """Brokers are `Unprivileged` where no other confinement is given."""
        self._confinement = confinement or Unprivileged(run_paths)
        self._run_paths = run_paths
        self._journal = journal
        self._storage = StorageDirectories(run_paths, journal)
        self._running: dict[BrokerId, subprocess.Popen[bytes]] = {}
        self._identities: dict[BrokerId, ProcessIdentity] = {}
        self._errors: dict[BrokerId, Path] = {}
        self._foreign: set[BrokerId] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for broker in list(self._running):
            self.kill(broker)
        self._storage.remove()

    def sandboxes(self, brokers: Sequence[BrokerId]) -> Mapping[BrokerId, int]:
        return {}

    def files(self, broker: BrokerId) -> BrokerFiles:
        paths = self._run_paths
        return BrokerFiles(
            socket=str(paths.socket(broker)),
            log=str(log_file(paths.logs, broker)),
            stored=str(paths.stored(broker) / STORED_FILE),
        )

    def start(self, launches: Sequence[Launch], namespaces: Mapping[BrokerId, int]) -> None:
        for launch in launches:
            launch.write_config()
            self._storage.provide(launch, self._confinement.provide(launch))
            self._start_one(launch, namespaces[launch.broker])

    def stop(self, brokers: Sequence[BrokerId], within: float) -> None:
        stopping = [broker for broker in brokers if broker in self._running]
        for broker in stopping:
            self._identities[broker].kill(signal.SIGTERM)
            self._signal(broker, signal.SIGCONT)  # a paused one handles SIGTERM only once it goes on
        await_end([self._identities[broker] for broker in stopping], within)
        for broker in stopping:
            self.kill(broker)

    def kill(self, broker: BrokerId) -> None:
        process = self._running.pop(broker, None)
        self._identities.pop(broker, None)
        if process is not None:
            process.kill()
            process.wait()
            if broker in self._foreign:
                end_all_of(self._run_paths.run_id, broker, process.pid)
            self._journal.removed(Resource.PROCESS, self._name(broker))

    def pause(self, broker: BrokerId) -> None:
        self._signal(broker, signal.SIGSTOP)
        await_stop(self._identities[broker])

    def resume(self, broker: BrokerId) -> None:
        if broker in self._identities:
            self._signal(broker, signal.SIGCONT)

    def throttle(self, broker: BrokerId, cores: float | None) -> None:
        if broker in self._identities:
            raise HostError(f"cannot throttle broker {broker}: a plain process has no CPU quota; use containers")

    def processes(self) -> Mapping[BrokerId, ProcessIdentity]:
        return dict(self._identities)

    def ending(self, broker: BrokerId) -> Ending:
        process = self._running.get(broker)
        code = None if process is None else _exit_code(process)
        self.kill(broker)
        path = self._errors.get(broker)
        lines = [] if path is None else _end_of(path).strip().splitlines()
        ending = Ending(broker, code, tuple(lines[-LAST_LINES:]))
        return replace(ending, remedy=remedy_for(ending)) if broker in self._foreign else ending

    def _signal(self, broker: BrokerId, number: signal.Signals) -> None:
        """Sends a signal to a broker, and to whatever one that is not brokerlab's has started."""
        process = self._identities[broker]
        if broker in self._foreign and process.alive:
            os.killpg(process.pid, number)
        else:
            process.kill(number)

    def _name(self, broker: BrokerId) -> str:
        return f"broker {broker}"

    def _start_one(self, launch: Launch, namespace: int) -> None:
        broker = launch.broker
        errors = launch.config_directory / "stderr.log"
        foreign, run_id = launch.resources.foreign, self._run_paths.run_id
        if foreign is None:
            program: Sequence[str] = (sys.executable, "-m", BROKER_PROGRAM)
            environment = environment_of_node(run_id)
        else:
            self._foreign.add(broker)
            program, environment = program_of(foreign), environment_of_process(run_id, broker, foreign)
        config = str((launch.config_directory / "broker.json").absolute())
        command = [*self._confinement.prefix(launch, namespace), *program, config]
        self._journal.creating(Resource.PROCESS, self._name(broker))
        try:
            with errors.open("wb") as standard_error:
                process = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=standard_error, stderr=standard_error,
                    env=environment, cwd="/", start_new_session=True,
                )  # fmt: skip
        except OSError as error:
            raise HostError(f"cannot start broker {broker}: {error}") from error
        self._journal.started(self._name(broker), process.pid)
        self._running[broker], self._errors[broker] = process, errors
        identity = identify(process.pid)
        if identity is None:
            raise HostError(f"{self.ending(broker)}, right after its start")
        self._identities[broker] = identity


def _paths_of(launch: Launch) -> Sequence[Path]:
    """The files on this host that a broker's program consists of, where it is not brokerlab's own."""
    foreign = launch.resources.foreign
    if foreign is None:
        return program_paths(launch.config.protocol)
    return [path for path in own_paths(foreign.command) if path.exists()]


def _end_of(path: Path) -> str:
    """The last text in a file, as much as `LAST_LINES` need."""
    with path.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - _LAST_BYTES))
        return file.read().decode(errors="replace")


def _exit_code(process: subprocess.Popen[bytes]) -> int | None:
    """Exit code of a process whose first thread has ended; the system knows it when the last one has, too."""
    try:
        return process.wait(EXIT_CODE_WITHIN)
    except subprocess.TimeoutExpired:
        return None


def unprivileged(run_paths: RunPaths, broker: BrokerId, *further: Path) -> list[str]:
    """The command prefix that gives up root and takes the user of a broker, or of anything else of that name.

    Where a directory above what it needs, `further` paths included, is closed to it (`closed_to_brokers`), the right to
    read past that (CAP_DAC_READ_SEARCH) is kept, and no other.
    """
    user = run_paths.users.of(broker)
    kept = "-all" if closed_to_brokers(run_paths.logs, *further) is None else "-all,+dac_read_search"
    return [
        "setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "--no-new-privs",
        f"--inh-caps={kept}", f"--ambient-caps={kept}", f"--bounding-set={kept}",
    ]  # fmt: skip


def closed_to_brokers(*further: Path) -> Path | None:
    """The first directory above the sources, Python or `further` paths that not every user may enter; None without."""
    needed = (_SOURCE_ROOT, Path(sys.executable), Path(sys.prefix), *further)
    above = (parent for path in needed for parent in reversed(path.resolve().parents))
    return next((parent for parent in above if not parent.stat().st_mode & 0o001), None)
