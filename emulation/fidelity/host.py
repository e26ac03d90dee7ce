"""Use of the host's CPUs over an interval, from /proc (proc(5); kernel documentation, accounting/psi)."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_IDLE_FIELDS, _STEAL_FIELD = (3, 4), 7
_TIME_FIELDS = slice(11, 15)
"""Fields of /proc/<pid>/stat after the command: user and system time of the process and of its ended children."""
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class HostSample:
    """Counters of the host at one moment; they only grow."""

    time: float
    """`time.monotonic()` seconds."""
    busy: int
    idle: int
    """Clock ticks of all CPUs, as `busy`; waiting for the disk counts as idle."""
    steal: int
    """Clock ticks that the hypervisor gave to other machines."""
    cpu_waiting: float | None
    """Seconds in which at least one task waited for a CPU; None where the kernel does not record it."""
    memory_waiting: float | None


@dataclass(frozen=True, slots=True)
class HostUse:
    """Shares, 0 to 1, over the time between two samples."""

    idle: float
    steal: float
    cpu_pressure: float | None
    memory_pressure: float | None


def sample(proc: Path = Path("/proc")) -> HostSample:
    """Reads the counters now."""
    ticks = [int(field) for field in (proc / "stat").read_text(encoding="ascii").splitlines()[0].split()[1:9]]
    idle = sum(ticks[field] for field in _IDLE_FIELDS)
    return HostSample(
        time=time.monotonic(),
        busy=sum(ticks) - idle,
        idle=idle,
        steal=ticks[_STEAL_FIELD],
        cpu_waiting=_waiting(proc / "pressure" / "cpu"),
        memory_waiting=_waiting(proc / "pressure" / "memory"),
    )


def use(samples: list[HostSample]) -> HostUse | None:
    """The use of the host over the time that the samples span; None when they span no time."""
    if len(samples) < 2 or samples[-1].busy + samples[-1].idle == samples[0].busy + samples[0].idle:
        return None
    first, last = samples[0], samples[-1]
    ticks = (last.busy + last.idle) - (first.busy + first.idle)
    elapsed = last.time - first.time
    return HostUse(
        idle=(last.idle - first.idle) / ticks,
        steal=(last.steal - first.steal) / ticks,
        cpu_pressure=_share(first.cpu_waiting, last.cpu_waiting, elapsed),
        memory_pressure=_share(first.memory_waiting, last.memory_waiting, elapsed),
    )


def processor_times(pids: Iterable[int], proc: Path = Path("/proc")) -> dict[int, float]:
    """Seconds of CPU that processes have used so far; those that have ended are left out."""
    return {pid: sum(map(int, fields[_TIME_FIELDS])) / _TICKS for pid in pids if (fields := _fields(proc / str(pid)))}


def own_share(before: dict[int, float], after: dict[int, float], seconds: float) -> float | None:
    """The share of all CPUs that these processes used; a process only in `after` began in between."""
    if seconds <= 0:
        return None
    used = sum(max(0.0, time - before.get(pid, 0.0)) for pid, time in after.items())
    return min(1.0, used / seconds / (os.cpu_count() or 1))


def _fields(process: Path) -> list[str]:
    try:
        stat = (process / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return stat[stat.rindex(")") + 2 :].split()


def _share(before: float | None, after: float | None, elapsed: float) -> float | None:
    return None if before is None or after is None else min(1.0, (after - before) / elapsed)


def _waiting(path: Path) -> float | None:
    try:
        some = path.read_text(encoding="ascii").splitlines()[0]
    except OSError:
        return None
    return int(some.rpartition("total=")[2]) / 1e6
