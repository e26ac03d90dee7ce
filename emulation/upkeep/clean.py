"""Removes what dead runs left on the host, and nothing else.

A run is dead when the process that owned it has ended. Three marks identify its resources: its journal, the label on
its containers, and the run's id in the environment of its processes. Resources without a mark, and those of runs in
progress, are not touched. Temporary files of dead commands are removed as `record.scratch` describes, after programs
that these commands started have ended by themselves; a process whose temporary directory was such a command's is the
command's own, and ends with it. Worker processes end by themselves when their command was killed, but not before they
have imported what they need.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emulation.host.host_lock import remove_stale_holder
from emulation.host.journal import Remains, Resource, remains
from emulation.host.processes import (
    RUN_VARIABLE,
    ProcessIdentity,
    await_end,
    boot_id,
    processes_of_run,
    processes_started_with,
)
from emulation.host.registry import ROOT, Owner, live_runs, runs, unregister
from record.errors import HostError
from record.scratch import outlasting_programs, remove_stale_scratch, system_directory
from record.time_units import SECOND
from record.wording import count_of

if TYPE_CHECKING:
    from docker import DockerClient

_SOURCE_ROOT = Path(__file__).resolve().parents[2]

RUN_LABEL = "brokerlab.run"
_PATIENCE = 5.0
"""Seconds in which killed processes end, containers that another process removes are gone, and requested ones exist."""
_POLL_INTERVAL = 0.05
"""Seconds between two looks at Docker's containers."""


@dataclass(slots=True)
class Cleaned:
    """The resources that were removed, and those that could not be."""

    runs: list[str] = field(default_factory=list)
    containers: list[str] = field(default_factory=list)
    processes: list[int] = field(default_factory=list)
    interfaces: list[str] = field(default_factory=list)
    scratch: list[Path] = field(default_factory=list)
    """Scratch directories of commands that were killed."""
    workers: list[int] = field(default_factory=list)
    """Processes of commands that were killed."""
    stale_holder: str | None = None
    """The killed cell of a campaign whose note beside the host lock was removed."""
    failures: list[str] = field(default_factory=list)

    @property
    def anything(self) -> bool:
        """True if there was something to remove."""
        return bool(
            self.runs
            or self.containers
            or self.processes
            or self.interfaces
            or self.scratch
            or self.workers
            or self.stale_holder
        )

    def __str__(self) -> str:
        if not self.anything:
            return "nothing was left by earlier runs"
        parts = [
            count_of(len(found), singular, plural)
            for singular, plural, found in (
                ("container", "containers", self.containers),
                ("process", "processes", self.processes),
                ("interface", "interfaces", self.interfaces),
            )
            if found
        ]
        sentences: list[str] = []
        if self.runs or parts:
            left = ", ".join(parts) or "only their directories"
            sentences.append(f"removed what {count_of(len(self.runs), 'dead run')} left: {left}")
        if self.scratch:
            directories = count_of(len(self.scratch), "temporary directory", "temporary directories")
            sentences.append(f"removed {directories} of killed commands")
        if self.workers:
            sentences.append(f"ended {count_of(len(self.workers), 'process', 'processes')} of killed commands")
        if self.stale_holder is not None:
            sentences.append(f"removed the note that {self.stale_holder}, which was killed, held the lock of this host")
        return "; ".join(sentences)


def clean(client: DockerClient | None, root: Path = ROOT) -> Cleaned:
    """Removes the remains of every dead run. Without a Docker client, containers stay.

    Runs may begin meanwhile. A run is registered before it makes anything; the registry is therefore read after its
    resources were listed.
    """
    cleaned = Cleaned()
    found: set[str] = set()
    if client is not None:
        _await_requested_containers(client, root)
        found |= _remove_containers(client, root, cleaned)
    for run_id, owner in list(runs(root)):
        if owner is not None and owner.alive:
            continue
        found.add(run_id)
        _remove_rest(run_id, owner, cleaned)
        unregister(run_id, root)
    cleaned.runs = sorted(found)
    _remove_scratch(cleaned)
    _end_workers(cleaned)
    cleaned.stale_holder = remove_stale_holder(root)
    return cleaned


def start_cleaning_after(process: ProcessIdentity) -> None:
    """Starts a process of its own that cleans this host as soon as `process` has ended."""
    environment = os.environ.copy()
    environment.pop(RUN_VARIABLE, None)  # that process belongs to no run and no command, whose processes it would end
    environment["TMPDIR"] = str(system_directory())
    subprocess.Popen(
        [sys.executable, "-m", __name__, str(process.pid), str(process.started)],
        cwd=_SOURCE_ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _await_requested_containers(client: DockerClient, root: Path) -> None:
    """Waits for the containers that dead runs requested shortly before their end, because Docker still makes them."""
    requested: dict[str, int] = {}
    for _, owner in runs(root):
        if owner is not None and not owner.alive and owner.boot == boot_id():
            requested |= _remains(owner).names.get(Resource.CONTAINER, {})
    while True:
        earliest = time.monotonic_ns() - int(_PATIENCE * SECOND)
        recent = {name for name, requested_at in requested.items() if requested_at > earliest}
        if not recent or recent.issubset(_name(container) for container in _labelled(client)):
            return
        time.sleep(_POLL_INTERVAL)


def _labelled(client: DockerClient) -> list[dict[str, Any]]:
    """The containers of all runs."""
    api: Any = client.api
    found: list[dict[str, Any]] = api.containers(all=True, filters={"label": RUN_LABEL})
    return found


def _name(container: Mapping[str, Any]) -> str:
    name: str = container["Names"][0]
    return name.lstrip("/")


def _remove_containers(client: DockerClient, root: Path, cleaned: Cleaned) -> set[str]:
    """Removes labelled containers of dead runs; returns those runs."""
    api: Any = client.api
    labelled = _labelled(client)
    live = live_runs(root)
    dead = [container for container in labelled if container["Labels"][RUN_LABEL] not in live]

    def remove(container: dict[str, Any]) -> str | None:
        import docker.errors  # noqa: PLC0415 - `brokerlab --help` need not load it

        try:
            api.remove_container(container["Id"], force=True, v=True)
        except docker.errors.NotFound:
            return None
        except docker.errors.APIError as error:
            # A conflict: another process removes it, such as a run that has just begun and cleans up, too.
            if error.status_code == HTTPStatus.CONFLICT and _gone(api, container["Id"]):
                return None
            return f"container {_name(container)}: {error.explanation or error}"
        return None

    with ThreadPoolExecutor(8) as pool:
        for container, failure in zip(dead, pool.map(remove, dead), strict=True):
            if failure is None:
                cleaned.containers.append(_name(container))
            else:
                cleaned.failures.append(failure)
    return {container["Labels"][RUN_LABEL] for container in dead}


def _gone(api: Any, container: str) -> bool:
    """True if a container that another process removes is gone before long."""
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        if not api.containers(all=True, filters={"id": container}):
            return True
        time.sleep(_POLL_INTERVAL)
    return False


def _remove_rest(run_id: str, owner: Owner | None, cleaned: Cleaned) -> None:
    """Ends the run's processes (their network namespaces end with them), removes its directories and interfaces."""
    left = _remains(owner) if owner is not None else Remains({}, [])
    of_this_boot = owner is None or owner.boot == boot_id()
    journaled = [process for process in left.processes if process.alive] if of_this_boot else []
    processes: dict[int, ProcessIdentity] = {process.pid: process for process in journaled}
    processes |= {process.pid: process for process in processes_of_run(run_id)}
    cleaned.processes += _killed(processes, cleaned)
    if owner is not None:
        for name in left.names.get(Resource.DIRECTORY, {}):
            _remove_directory(Path(name), Path(owner.journal).parent)
    for name in left.names.get(Resource.INTERFACE, {}):
        if _delete_interface(run_id, name):
            cleaned.interfaces.append(name)


def _remains(owner: Owner) -> Remains:
    """The resources that a run may have left by its journal."""
    try:
        return remains(Path(owner.journal))
    except OSError:  # the run directory was deleted
        return Remains({}, [])


def _remove_scratch(cleaned: Cleaned) -> None:
    """Removes scratch directories of killed commands, once the programs that they started have ended: Java notices
    within a second or two that its command is gone."""
    deadline = time.monotonic() + _PATIENCE
    cleaned.scratch += remove_stale_scratch()
    while (left := outlasting_programs()) and time.monotonic() < deadline:
        time.sleep(_POLL_INTERVAL)
        cleaned.scratch += remove_stale_scratch()
    cleaned.failures += [f"{directory}: a program of a killed command does not end" for directory in left]


def _end_workers(cleaned: Cleaned) -> None:
    """Ends the processes of killed commands, whose scratch directories have been removed."""
    processes = {
        process.pid: process
        for directory in cleaned.scratch
        for process in processes_started_with("TMPDIR", str(directory))
        if process.pid != os.getpid()
    }
    cleaned.workers = _killed(processes, cleaned)


def _killed(processes: Mapping[int, ProcessIdentity], cleaned: Cleaned) -> list[int]:
    """Kills processes and waits for their ends; returns the pids of those that have ended."""
    for process in processes.values():
        process.kill()
    stuck = {process.pid for process in await_end(list(processes.values()), _PATIENCE)}
    cleaned.failures += [f"process {pid} does not end" for pid in sorted(stuck)]
    return sorted(set(processes) - stuck)


def _remove_directory(directory: Path, run_directory: Path) -> None:
    """Removes a directory and what is in it, if it is one of the run's own."""
    if directory.resolve().is_relative_to(run_directory.resolve()) and directory.resolve() != run_directory.resolve():
        shutil.rmtree(directory, ignore_errors=True)


def _delete_interface(run_id: str, name: str) -> bool:
    """Deletes an interface of the host's own namespace if its name is one only this run could have made."""
    from emulation.network.model import interface_prefix  # noqa: PLC0415

    if not name.startswith(interface_prefix(run_id)) or not Path("/sys/class/net", name).exists():
        return False
    return subprocess.run(["ip", "link", "delete", name], capture_output=True, check=False).returncode == 0


def main(pid: str, started: str) -> None:
    """The process that `start_cleaning_after` starts."""
    from emulation.host.docker_host import docker_client  # noqa: PLC0415 - only this process needs it

    await_end([ProcessIdentity(int(pid), int(started))], _PATIENCE)
    try:
        client = docker_client()
    except HostError:
        client = None
    clean(client)


if __name__ == "__main__":
    main(*sys.argv[1:])
