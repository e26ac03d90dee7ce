"""Control groups (cgroup version 1 and 2) of a process: processors and numbers of processes, and what they count."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

PROC, CGROUPS = Path("/proc"), Path("/sys/fs/cgroup")
_STAT, _EVENTS = "cpu.stat", "pids.events"


def cpu_cgroups(pid: int, proc: Path = PROC, cgroups: Path = CGROUPS) -> list[Path]:
    """The directories that may hold a process's CPU quota; empty for a process that has ended."""
    return _directories(pid, "cpu", proc, cgroups)


def refused_forks(pid: int, proc: Path = PROC, cgroups: Path = CGROUPS) -> int:
    """The number of processes and threads that a process's group could not start, because it had as many as it may;
    0 where the kernel does not count them."""
    refused = 0
    for directory in _directories(pid, "pids", proc, cgroups):
        with suppress(OSError):
            events = dict(line.split() for line in (directory / _EVENTS).read_text(encoding="ascii").splitlines())
            refused += int(events.get("max", 0))
    return refused


def _directories(pid: int, wanted: str, proc: Path, cgroups: Path) -> list[Path]:
    """The groups of a process by a controller; empty for a process that has ended."""
    try:
        memberships = (proc / str(pid) / "cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    directories = []
    for line in memberships:
        _, controllers, path = line.split(":", 2)
        # Version 2 has one hierarchy without a controller's name, version 1 one for each set of them.
        root = cgroups if not controllers else cgroups / controllers if wanted in controllers.split(",") else None
        if root is not None:
            directories.append(root / path.lstrip("/"))
    return directories


def above(directory: Path, cgroups: Path = CGROUPS) -> list[Path]:
    """A group and those that it is in."""
    return [each for each in (directory, *directory.parents) if each.is_relative_to(cgroups)]


def cpu_stat(directory: Path) -> dict[str, int]:
    """The counters of a group; empty for a directory that has none."""
    try:
        pairs = (entry.split() for entry in (directory / _STAT).read_text(encoding="ascii").splitlines())
        return {name: int(value) for name, value in pairs}
    except OSError:
        return {}


def throttled(stat: dict[str, int]) -> int:
    """The nanoseconds for which a group's quota has held its processes back, on all processors together."""
    return stat["throttled_time"] if "throttled_time" in stat else 1000 * stat.get("throttled_usec", 0)
