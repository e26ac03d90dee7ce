"""Throttling: periods in which brokers had used up their CPU quota (cgroup `cpu.stat`, version 1 and 2)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from emulation.host.cgroups import CGROUPS, PROC, above, cpu_cgroups, cpu_stat


@dataclass(frozen=True, slots=True)
class Throttling:
    """Throttling over an interval, by the cgroups of brokers with a CPU quota."""

    quota: float
    """CPUs per broker."""
    share: float
    """The share of the quota's periods, over all brokers, in which the broker used it up."""


@dataclass(frozen=True, slots=True)
class QuotaCounters:
    """Periods of the quota so far, summed over the cgroups of several processes."""

    periods: int
    throttled: int


def count_periods(pids: Iterable[int], proc: Path = PROC, cgroups: Path = CGROUPS) -> QuotaCounters:
    """Adds up the counters of the processes' cgroups; a process that has ended counts nothing."""
    periods = throttled = 0
    for pid in pids:
        stat = _cpu_stat(pid, proc, cgroups)
        periods += stat.get("nr_periods", 0)
        throttled += stat.get("nr_throttled", 0)
    return QuotaCounters(periods, throttled)


def throttling(quota: float, before: QuotaCounters, after: QuotaCounters) -> Throttling | None:
    """The throttling between two counts; None when no period passed."""
    if (periods := after.periods - before.periods) <= 0:
        return None
    return Throttling(quota, (after.throttled - before.throttled) / periods)


def cores_of(pid: int, proc: Path = PROC, cgroups: Path = CGROUPS) -> float | None:
    """The CPUs that the quota of a process's own cgroup allows; None without a quota, and for a process that has
    ended."""
    for directory in cpu_cgroups(pid, proc, cgroups):
        try:
            if (directory / "cpu.max").exists():
                quota, period = (directory / "cpu.max").read_text(encoding="ascii").split()
            else:
                quota, period = (
                    (directory / f"cpu.cfs_{name}_us").read_text(encoding="ascii") for name in ("quota", "period")
                )
        except OSError:
            continue
        return None if quota == "max" or int(quota) < 0 else int(quota) / int(period)
    return None


def count_host_periods(pid: int, proc: Path = PROC, cgroups: Path = CGROUPS) -> dict[Path, QuotaCounters]:
    """The counters of a process's cgroup and of each above it, those of a container's outermost one included."""
    counters = {}
    for directory in cpu_cgroups(pid, proc, cgroups):
        for ancestor in above(directory, cgroups):
            if stat := cpu_stat(ancestor):
                counters[ancestor] = QuotaCounters(stat.get("nr_periods", 0), stat.get("nr_throttled", 0))
    return counters


def host_throttling(before: dict[Path, QuotaCounters], after: dict[Path, QuotaCounters]) -> float:
    """The greatest share of periods in which any of the cgroups used its quota up; 0 where no cgroup has a quota."""
    shares = [
        (after[group].throttled - before[group].throttled) / periods
        for group in before.keys() & after.keys()
        if (periods := after[group].periods - before[group].periods) > 0
    ]
    return max(shares, default=0.0)


def _cpu_stat(pid: int, proc: Path, cgroups: Path) -> dict[str, int]:
    stats = (cpu_stat(directory) for directory in cpu_cgroups(pid, proc, cgroups))
    return next((stat for stat in stats if stat), {})
