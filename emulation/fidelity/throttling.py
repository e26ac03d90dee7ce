"""How often the kernel held brokers back because they had used up their CPU quota (cgroup `cpu.stat`, v1 and v2)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Throttling:
    """What the cgroups of brokers with a CPU quota say."""

    quota: float
    """CPUs per broker."""
    share: float
    """Of the quota's periods, over all brokers, in which the broker used it up."""


@dataclass(frozen=True, slots=True)
class QuotaCounters:
    """Periods of the quota so far, over several processes' cgroups."""

    periods: int
    throttled: int


def count_periods(
    pids: Iterable[int], proc: Path = Path("/proc"), cgroups: Path = Path("/sys/fs/cgroup")
) -> QuotaCounters:
    """Adds up the counters of the processes' cgroups; a process that has ended counts nothing."""
    periods = throttled = 0
    for pid in pids:
        stat = _cpu_stat(pid, proc, cgroups)
        periods += stat.get("nr_periods", 0)
        throttled += stat.get("nr_throttled", 0)
    return QuotaCounters(periods, throttled)


def throttling(quota: float, before: QuotaCounters, after: QuotaCounters) -> Throttling | None:
    """What happened between two counts; None when no period passed."""
    if (periods := after.periods - before.periods) <= 0:
        return None
    return Throttling(quota, (after.throttled - before.throttled) / periods)


def _cpu_stat(pid: int, proc: Path, cgroups: Path) -> dict[str, int]:
    try:
        memberships = (proc / str(pid) / "cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return {}
    for line in memberships:
        _, controllers, path = line.split(":", 2)
        # Version 2 has one hierarchy without a controller's name, version 1 one for each set of them.
        root = cgroups if not controllers else cgroups / controllers if "cpu" in controllers.split(",") else None
        file = None if root is None else root / path.lstrip("/") / "cpu.stat"
        if file is not None and file.is_file():
            pairs = (entry.split() for entry in file.read_text(encoding="ascii").splitlines())
            return {name: int(value) for name, value in pairs}
    return {}
