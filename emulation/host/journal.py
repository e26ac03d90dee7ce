"""The journal: every change a run makes to the host is written down before it is made.

However the run ends, `emulation.upkeep.clean` can then undo exactly these changes. Lines are passed to the kernel one
by one but not forced to the disk: they must survive this process but not the machine, because namespaces, interfaces
and processes end with the machine, and containers have the run's id as a label.
"""

from __future__ import annotations

import contextlib
import enum
import os
import threading
import time
from pathlib import Path

import msgspec

from emulation.host.processes import ProcessIdentity, identify


class Resource(enum.StrEnum):
    """The kinds of resources that a run may leave on the host."""

    CONTAINER = "container"
    PROCESS = "process"
    NAMESPACE = "namespace"
    """A named network namespace."""
    INTERFACE = "interface"
    """A network interface in the host's own namespace."""
    DIRECTORY = "directory"


class Change(enum.StrEnum):
    CREATE = "create"
    """The resource is about to be made, and may exist."""
    IDENTIFY = "identify"
    """The process that was about to be made has this identity."""
    REMOVE = "remove"
    """The resource is gone."""


class JournalEntry(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One line of `journal.jsonl`."""

    time: int
    """Nanoseconds, host monotonic clock."""
    change: Change
    resource: Resource
    name: str
    process: ProcessIdentity | None = None


class Journal:
    """An append-only file of entries. May be used from several threads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)

    def creating(self, resource: Resource, name: str) -> None:
        """Notes that a resource is about to be made. To be called before the change."""
        self._append(Change.CREATE, resource, name)

    def started(self, name: str, pid: int) -> None:
        """Completes `creating(PROCESS, name)` with the process's identity."""
        if (identity := identify(pid)) is not None:
            self._append(Change.IDENTIFY, Resource.PROCESS, name, identity)

    def removed(self, resource: Resource, name: str) -> None:
        """To be called once the resource is gone.

        A full disk does not stop the removal of the rest: without this entry a later clean-up looks for a resource that
        is gone, and has no other effect.
        """
        with contextlib.suppress(OSError):
            self._append(Change.REMOVE, resource, name)

    def close(self) -> None:
        with self._lock:
            if self._file >= 0:
                os.close(self._file)
                self._file = -1

    def _append(self, change: Change, resource: Resource, name: str, process: ProcessIdentity | None = None) -> None:
        entry = JournalEntry(time=time.monotonic_ns(), change=change, resource=resource, name=name, process=process)
        line = msgspec.json.encode(entry) + b"\n"
        with self._lock:
            os.write(self._file, line)


class Remains(msgspec.Struct):
    """The resources that may still exist by a journal."""

    names: dict[Resource, dict[str, int]]
    """Times of their making by their names; nanoseconds, host monotonic clock."""
    processes: list[ProcessIdentity]


def remains(path: Path) -> Remains:
    """Reads a journal, complete or cut off, and subtracts removals from creations."""
    decoder = msgspec.json.Decoder(JournalEntry)
    names: dict[Resource, dict[str, int]] = {resource: {} for resource in Resource}
    processes: dict[str, ProcessIdentity] = {}
    for line in path.read_bytes().splitlines():
        try:
            entry = decoder.decode(line)
        except msgspec.DecodeError:  # the last line of a run that was killed
            continue
        if entry.change is Change.REMOVE:
            names[entry.resource].pop(entry.name, None)
            if entry.resource is Resource.PROCESS:
                processes.pop(entry.name, None)
        else:
            names[entry.resource][entry.name] = entry.time
            if entry.process is not None:
                processes[entry.name] = entry.process
    return Remains(names, list(processes.values()))
