"""The room of hosts: the processors that a run may use, and the memory that is left."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Host:
    """The room that a host has."""

    processors: int
    memory: int
    """Bytes that new processes may use."""


def this_host(proc: Path = Path("/proc"), container: Path = Path("/sys/fs/cgroup")) -> Host:
    """The room now on this host (proc(5), MemAvailable), and in the container that this process may run in."""
    facts = dict(line.split(":") for line in (proc / "meminfo").read_text(encoding="ascii").splitlines())
    memory = int(facts["MemAvailable"].split()[0]) << 10
    if (inside := _memory_in(container)) is not None:
        memory = min(memory, inside)
    processors = len(os.sched_getaffinity(0))
    if (quota := _processors_in(container)) is not None:
        processors = min(processors, max(1, quota))
    return Host(processors, memory)


def shared_by(hosts: Mapping[str, Host], weights: Mapping[str, float]) -> Host:
    """The room of several hosts for an overlay that they share by their weights.

    The overlay is full when the first host is: what the others have more stays unused.
    """
    whole = sum(weights[name] for name in hosts)
    return Host(
        int(min(host.processors * whole / weights[name] for name, host in hosts.items())),
        int(min(host.memory * whole / weights[name] for name, host in hosts.items())),
    )


def _memory_in(container: Path) -> int | None:
    """Bytes below the limit of a control group (version 2); None where there is no limit."""
    try:
        limit, used, facts = ((container / f"memory.{name}").read_text() for name in ("max", "current", "stat"))
        files = dict(line.split() for line in facts.splitlines())["inactive_file"]  # given up when memory is short
        return int(limit) - int(used) + int(files)
    except (OSError, KeyError, ValueError):
        return None


def _processors_in(container: Path) -> int | None:
    """The whole processors that the quota of a control group (version 2) amounts to; None where there is no quota."""
    try:
        quota, period = (container / "cpu.max").read_text().split()
        return int(quota) // int(period)
    except (OSError, ValueError, ZeroDivisionError):
        return None
