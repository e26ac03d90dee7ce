"""What the host's CPUs did during a stretch of time, from /proc (proc(5); kernel documentation, accounting/psi)."""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass
from pathlib import Path

_IDLE_FIELDS, _STEAL_FIELD = (3, 4), 7


@dataclass(frozen=True, slots=True)
class HostSample:
    """Counters that only grow."""

    time: float
    """`time.monotonic()` seconds."""
    busy: int
    idle: int
    """Clock ticks of all CPUs; waiting for the disk counts as idle."""
    steal: int
    """Clock ticks that the hypervisor gave to others."""
    cpu_waiting: float | None
    """Seconds in which at least one task waited for a CPU; None where the kernel does not say."""
    memory_waiting: float | None


@dataclass(frozen=True, slots=True)
class HostUse:
    """Shares, 0 to 1, over the time between two samples."""

    idle: float
    steal: float
    cpu_pressure: float | None
    memory_pressure: float | None
    lowest_idle: float
    """Of the shortest stretches that were sampled."""


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
    """What the samples say of the time they span; None when that is no time at all."""
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
        lowest_idle=min(
            (later.idle - earlier.idle) / max(1, later.idle + later.busy - earlier.idle - earlier.busy)
            for earlier, later in itertools.pairwise(samples)
        ),
    )


def _share(before: float | None, after: float | None, elapsed: float) -> float | None:
    return None if before is None or after is None else min(1.0, (after - before) / elapsed)


def _waiting(path: Path) -> float | None:
    try:
        some = path.read_text(encoding="ascii").splitlines()[0]
    except OSError:
        return None
    return int(some.rpartition("total=")[2]) / 1e6
