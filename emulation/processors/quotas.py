"""Quotas that hold processes back, and processors that the hypervisor steals: counters of control groups and host.

A broker in a container is in a control group of its own, whose quota is the scenario's. The groups that the sampler is
in itself are around the whole run: their quotas are the host's.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from emulation.host.cgroups import CGROUPS, PROC, above, cpu_cgroups, cpu_stat, throttled
from record.time_units import SECOND

_STEAL = 8
"""Place of the stolen time in the first line of /proc/stat (proc(5))."""


@dataclass(slots=True)
class _Group:
    """The control group of a broker."""

    node: int
    held_back: int
    read: int
    has_quota: bool = False


class Quotas:
    """The quotas of brokers' own control groups."""

    def __init__(self, own: int, proc: Path = PROC, cgroups: Path = CGROUPS) -> None:
        """`own` is a process of the run that no broker's quota holds back."""
        self._proc, self._cgroups = proc, cgroups
        self.around = [group for inner in cpu_cgroups(own, proc, cgroups) for group in above(inner, cgroups)]
        """The groups around the whole run."""
        self._groups: dict[Path, _Group] = {}
        self._watched: set[int] = set()

    def watch(self, pid: int, node: int) -> None:
        """Looks at the group of a node's process from now on, if it is the node's own."""
        if pid in self._watched:
            return
        self._watched.add(pid)
        for group in cpu_cgroups(pid, self._proc, self._cgroups):
            stat = cpu_stat(group)
            if group not in self.around and stat:
                self._groups.setdefault(group, _Group(node, throttled(stat), 0))

    def search(self, now: int) -> None:
        """Finds out which groups have quotas by now, and forgets those that are gone."""
        for group, known in list(self._groups.items()):
            stat = cpu_stat(group)
            if not stat:
                del self._groups[group]
            elif not known.has_quota and stat.get("nr_periods"):
                known.has_quota, known.read = True, now

    def look(self, now: int) -> Iterator[tuple[int, int, int]]:
        """Node, begin and nanoseconds held back of each interval that ends now."""
        for group, known in self._groups.items():
            if known.has_quota and now > known.read:
                held_back = throttled(cpu_stat(group))
                if held_back > known.held_back:
                    yield known.node, known.read, held_back - known.held_back
                known.held_back, known.read = max(held_back, known.held_back), now


class HostCounters:
    """The time for which the hypervisor stole processors, and for which quotas around the whole run held it back."""

    def __init__(self, around: Sequence[Path], proc: Path = PROC) -> None:
        self._around, self._proc = around, proc
        self._read = 0
        self._counts = (0, 0)

    def look(self, now: int) -> Iterator[tuple[int, int, int]]:
        """Begin, stolen and held back nanoseconds of the interval that ends now, if there is anything."""
        before, self._counts = self._counts, (self._stolen(), self._held_back())
        begin, self._read = self._read, now
        stolen, held_back = (max(after - first, 0) for first, after in zip(before, self._counts, strict=True))
        if begin and (stolen or held_back):
            yield begin, stolen, held_back

    def _stolen(self) -> int:
        with (self._proc / "stat").open(encoding="ascii") as file:
            fields = file.readline().split()
        return int(fields[_STEAL]) * SECOND // os.sysconf("SC_CLK_TCK") if len(fields) > _STEAL else 0

    def _held_back(self) -> int:
        """The time of the group that was held back longest, because groups are in each other."""
        return max((throttled(cpu_stat(group)) for group in self._around), default=0)
