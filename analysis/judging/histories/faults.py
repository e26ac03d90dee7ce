"""Faults as the analysis sees them: when each began and was healed, how long it is watched, which neighbours noticed.

A fault is watched from its start until `AROUND_SECONDS` after its heal or for as long as the overlay may take to
recover, whichever is longer, but not beyond the start of the next fault.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from analysis.reading.intervals import FOREVER
from analysis.reading.log_events import NeighbourChange, OutageEvent
from analysis.reading.outages import Outage, outages
from record.time_units import SECOND

AROUND_SECONDS = 10.0
"""Delay before a fault is that of publications due in this time before it; delay after it is that of publications due
in this time after its heal."""
SAME_FAULT_SECONDS = 0.5
"""Outages of one kind on several targets are one fault when each begins within this time after the one before."""

AROUND = int(AROUND_SECONDS * SECOND)
_SAME_FAULT = int(SAME_FAULT_SECONDS * SECOND)


@dataclass(frozen=True, slots=True)
class FaultSpan:
    """One fault. Times in nanoseconds."""

    kind: str
    what: tuple[str, ...]
    """The brokers or links, as logged."""
    begin: int
    healed: int
    """The time at which the last of them was healed; `FOREVER` where one never was."""
    until: int
    """The end of the time in which it is watched."""


class FaultTimes:
    """The faults of one variant, in order, to be looked up by time."""

    def __init__(self, faults: Sequence[FaultSpan] = ()) -> None:
        self.faults = tuple(faults)
        self._begins = [fault.begin for fault in faults]
        self._furthest = list(accumulate((fault.until for fault in faults), max))
        """The latest `until` of each fault and all faults before it."""

    def watched(self, start: int, end: int) -> Iterator[int]:
        """The numbers of the faults that are watched at any moment of [start, end]."""
        for number in range(bisect_right(self._begins, end) - 1, -1, -1):
            if self._furthest[number] < start:
                return
            if self.faults[number].until >= start:
                yield number

    def soon(self, time: int) -> range:
        """The numbers of the faults that begin within `AROUND_SECONDS` after this moment."""
        return range(bisect_right(self._begins, time), bisect_right(self._begins, time + AROUND))


def fault_spans(events: Iterable[OutageEvent], recovery: int, brokers: Collection[str]) -> list[FaultSpan]:
    """The faults of one variant, in order, from its records `fault` and `healed`. `recovery` is in nanoseconds."""
    groups: list[list[Outage]] = []
    for outage in outages(events, brokers):
        group = next((group for group in reversed(groups) if _belongs(outage, group)), None)
        if group is None:
            groups.append([outage])
        else:
            group.append(outage)
    begins = [group[0].begin for group in groups]
    spans = []
    for group in groups:
        healed = max(outage.end for outage in group)
        later = bisect_right(begins, max(healed, group[-1].begin))
        following = begins[later] if later < len(begins) else FOREVER
        until = FOREVER if healed == FOREVER else min(healed + max(recovery, AROUND), following)
        what = tuple(dict.fromkeys(outage.target for outage in group))
        spans.append(FaultSpan(group[0].kind, what, group[0].begin, healed, until))
    return spans


def _belongs(outage: Outage, group: Sequence[Outage]) -> bool:
    """True for a further outage of the same fault. One record breaks both directions of a link; a later record of the
    same target is another fault."""
    if outage.kind != group[0].kind or outage.begin - group[-1].begin > _SAME_FAULT:
        return False
    return all(outage.target != other.target or outage.begin == other.begin for other in group)


@dataclass(frozen=True, slots=True)
class Noticing:
    """The neighbours that noticed a fault, and the times at which they did."""

    neighbours: int = 0
    """One for each end of a link."""
    first: float | None = None
    """Seconds from the fault until the first neighbour noticed."""
    last: float | None = None
    """Seconds from the fault until the last neighbour noticed."""
    reconnected: int | None = None
    """The time at which the last neighbour that was still without the broker at the heal had it again, nanoseconds;
    None where no neighbour was without it, or one of them never had it again."""


def noticing(fault: FaultSpan, changes: Iterable[NeighbourChange]) -> Noticing:
    """The view of a fault by the neighbours of its brokers, or the ends of its links. Changes are in order of time."""
    noticed: list[int] = []
    reconnected: list[int | None] = []
    for of_link in _of_links(fault, changes):
        within = [change for change in of_link if change.at.time <= fault.healed]
        down = next((change.at.time for change in within if not change.up and change.at.time >= fault.begin), None)
        if down is None:
            continue
        noticed.append(down)
        if not within[-1].up:
            later = (change for change in of_link if change.up and fault.healed < change.at.time <= fault.until)
            reconnected.append(next((change.at.time for change in later), None))
    times = [time for time in reconnected if time is not None]
    complete = bool(times) and len(times) == len(reconnected)
    return Noticing(
        neighbours=len(noticed),
        first=(min(noticed) - fault.begin) / SECOND if noticed else None,
        last=(max(noticed) - fault.begin) / SECOND if noticed else None,
        reconnected=max(times) if complete else None,
    )


def _of_links(fault: FaultSpan, changes: Iterable[NeighbourChange]) -> Iterable[list[NeighbourChange]]:
    """The changes that each neighbour concerned saw of each link concerned."""
    struck = frozenset(fault.what)
    found: dict[tuple[str, str], list[NeighbourChange]] = defaultdict(list)
    for change in changes:
        a, b = change.node, change.neighbour
        if b in struck or not struck.isdisjoint((f"{a}-{b}", f"{b}-{a}", f"{a}->{b}", f"{b}->{a}")):
            found[a, b].append(change)
    return found.values()
