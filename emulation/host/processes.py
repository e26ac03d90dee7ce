"""Processes as the kernel knows them: a pid alone may be reused, a pid with its start time is one process for good."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

RUN_VARIABLE = "BROKERLAB_RUN"
"""Environment variable that every process of a run carries, so that one whose journal is lost is still found."""

_START_TIME_FIELD = 19  # field 22 of /proc/<pid>/stat, counted after the command's closing parenthesis (proc(5))


class ProcessIdentity(msgspec.Struct, frozen=True):
    """One process of this boot of the machine."""

    pid: int
    started: int
    """Clock ticks after boot."""

    @property
    def alive(self) -> bool:
        """Whether this very process still runs; a zombie does not."""
        return start_time(self.pid) == self.started

    def kill(self, sign: signal.Signals = signal.SIGKILL) -> None:
        """Signals this process unless it has ended."""
        if self.alive:
            try:
                os.kill(self.pid, sign)
            except ProcessLookupError:
                return


def start_time(pid: int) -> int | None:
    """When a process started, in clock ticks after boot; None when it has ended or is a zombie."""
    fields = _fields(pid)
    return None if not fields or fields[0] in {"Z", "X"} else int(fields[_START_TIME_FIELD])


def _state(pid: int) -> str:
    """The letter that stands for what a process does (proc(5)); empty when it has ended."""
    return next(iter(_fields(pid)), "")


def _fields(pid: int) -> list[str]:
    """What /proc/<pid>/stat says after the command, the state first; nothing when the process has ended."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return []
    return stat[stat.rindex(")") + 2 :].split()


def identify(pid: int) -> ProcessIdentity | None:
    """The process that has this pid now."""
    started = start_time(pid)
    return None if started is None else ProcessIdentity(pid, started)


def boot_id() -> str:
    """Identifies this boot: identities of another boot name nothing."""
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def processes_of_run(run_id: str) -> Iterator[ProcessIdentity]:
    """Processes whose environment, as they were started, carries the run's id."""
    mark = f"{RUN_VARIABLE}={run_id}".encode()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            environment = (entry / "environ").read_bytes()
        except OSError:  # it ended meanwhile, or belongs to another user
            continue
        if mark in environment.split(b"\0") and (identity := identify(int(entry.name))) is not None:
            yield identity


def await_stop(identity: ProcessIdentity) -> None:
    """Waits until a process that was sent SIGSTOP does nothing any more, or has ended."""
    while identity.alive and _state(identity.pid) not in {"T", "t"}:
        time.sleep(0.001)


def await_end(identities: list[ProcessIdentity], within: float) -> list[ProcessIdentity]:
    """Waits until the processes have ended. Returns those that have not, after `within` seconds."""
    deadline = time.monotonic() + within
    remaining = [identity for identity in identities if identity.alive]
    while remaining and time.monotonic() < deadline:
        time.sleep(0.02)
        remaining = [identity for identity in remaining if identity.alive]
    return remaining
