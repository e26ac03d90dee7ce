"""Processes as the kernel knows them: a pid may be reused, but a pid with its start time names one process for good."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

RUN_VARIABLE = "BROKERLAB_RUN"
"""Environment variable that every process of a run carries, so that one whose journal is lost is still found."""

# Fields of /proc/<pid>/stat, counted after the command's closing parenthesis (proc(5)): 9, 22, 50 and 51 there.
_FLAGS_FIELD, _START_TIME_FIELD, _ENVIRONMENT_FIELDS = 6, 19, slice(47, 49)
_EXITS, _IS_OF_KERNEL = 0x4, 0x200000
"""Flags of a process: PF_EXITING and PF_KTHREAD of the kernel."""

_EXECUTES_WITHIN = 1.0
"""Seconds in which execve(2) has come to the new program, a slow disk included."""
_LOOKS_FOR = 2.0
"""Seconds that a look for processes takes at most while new ones come about."""


class ProcessIdentity(msgspec.Struct, frozen=True):
    """One process of this boot of the machine."""

    pid: int
    started: int
    """Clock ticks after boot."""

    @property
    def alive(self) -> bool:
        """True while this very process runs; a zombie does not."""
        return start_time(self.pid) == self.started

    def kill(self, sign: signal.Signals = signal.SIGKILL) -> None:
        """Signals this process unless it has ended."""
        if self.alive:
            try:
                os.kill(self.pid, sign)
            except ProcessLookupError:
                return

    def open(self) -> int | None:
        """A descriptor that becomes readable when this process ends (pidfd_open(2)); None if it has ended."""
        try:
            descriptor = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return None
        if self.alive:
            return descriptor
        os.close(descriptor)
        return None


def start_time(pid: int) -> int | None:
    """The time at which a process started, in clock ticks after boot; None if it has ended or is a zombie."""
    fields = _fields(pid)
    return None if not fields or fields[0] in {"Z", "X"} else int(fields[_START_TIME_FIELD])


def _state(pid: int) -> str:
    """The letter of a process's state (proc(5)); empty if it has ended."""
    return next(iter(_fields(pid)), "")


def _fields(pid: int) -> list[str]:
    """The fields of /proc/<pid>/stat after the command, the state first; none if the process has ended."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return []
    return stat[stat.rindex(")") + 2 :].split()


def identify(pid: int) -> ProcessIdentity | None:
    """The process that has this pid now; None if there is none."""
    started = start_time(pid)
    return None if started is None else ProcessIdentity(pid, started)


def this_process() -> ProcessIdentity:
    """The calling process."""
    identity = identify(os.getpid())
    assert identity is not None
    return identity


def boot_id() -> str:
    """Identifies this boot of the machine: identities of another boot name no process."""
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def processes_of_run(run_id: str) -> Iterator[ProcessIdentity]:
    """Processes whose environment, as they were started, carries the run's id."""
    return processes_started_with(RUN_VARIABLE, run_id)


def processes_started_with(variable: str, value: str) -> Iterator[ProcessIdentity]:
    """Processes in whose environment, as they were started, the variable has this value; also those that come about
    during the look, because a parent that is looked at before it forks may have ended since."""
    mark = f"{variable}={value}".encode()
    seen: set[int] = set()
    deadline = time.monotonic() + _LOOKS_FOR
    while (new := _pids() - seen) and time.monotonic() < deadline:
        seen |= new
        for pid in sorted(new):
            if mark in environment_of(pid) and (identity := identify(pid)) is not None:
                yield identity


def environment_of(pid: int) -> list[bytes]:
    """The variables of a process as it was started (`NAME=value`); none if it has ended, belongs to another user or to
    the kernel.

    The kernel shows no environment of a process that is inside execve(2), between the end of its old program and the
    beginning of the new one. That is awaited.
    """
    deadline = time.monotonic() + _EXECUTES_WITHIN
    while True:
        try:
            environment = Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:
            return []
        if environment or not _has_environment_to_come(pid) or time.monotonic() > deadline:
            return environment.split(b"\0")
        time.sleep(0)


def _has_environment_to_come(pid: int) -> bool:
    """True of a living process whose environment is not there yet, or has come about since it was read."""
    fields = _fields(pid)
    if not fields or fields[0] in {"Z", "X"} or int(fields[_FLAGS_FIELD]) & (_EXITS | _IS_OF_KERNEL):
        return False
    begin, end = (int(field) for field in fields[_ENVIRONMENT_FIELDS])
    return end == 0 or end > begin


def _pids() -> set[int]:
    return {int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()}


def end_child(process: subprocess.Popen[bytes] | subprocess.Popen[str], within: float) -> None:
    """Closes the standard input of a child, which is told by that to end, and kills one that runs on after `within`
    seconds. Does nothing if it has ended."""
    if process.stdin is not None:
        with contextlib.suppress(OSError):  # a child that has ended does not take what is still to be written
            process.stdin.close()
    try:
        process.wait(within)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def await_stop(identity: ProcessIdentity) -> None:
    """Waits until a process that was sent SIGSTOP has stopped, or has ended."""
    while identity.alive and _state(identity.pid) not in {"T", "t"}:
        time.sleep(0.001)


def await_end(identities: list[ProcessIdentity], within: float) -> list[ProcessIdentity]:
    """Waits until the processes have ended. Returns those that still run after `within` seconds."""
    deadline = time.monotonic() + within
    with contextlib.ExitStack() as stack:
        running: dict[int, ProcessIdentity] = {}
        ended = select.poll()
        for identity in identities:
            if (descriptor := identity.open()) is not None:
                stack.callback(os.close, descriptor)
                running[descriptor] = identity
                ended.register(descriptor, select.POLLIN)
        while running and (left := deadline - time.monotonic()) > 0:
            for descriptor, _ in ended.poll(left * 1000):
                ended.unregister(descriptor)
                del running[descriptor]
        return list(running.values())
