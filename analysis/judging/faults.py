"""Faults as the analysis sees them: what struck when, until when it is watched, and which neighbours noticed.

A fault is watched from its beginning until `AROUND_SECONDS` after its heal or for as long as the overlay may take to
recover, whichever is longer, but not beyond the beginning of the next fault.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from analysis.reading.intervals import FOREVER
from analysis.reading.outages import Outage, outages
from analysis.reading.reading import NeighbourChange, OutageEvent
from analysis.run_files.phases import SECOND

AROUND_SECONDS = 10.0
"""Delay before a fault is that of publications due so long before it; after it, of those due so long after its heal."""
SAME_DEED_SECONDS = 0.5
"""Faults of one kind on several targets are one, when each begins so soon after the one before."""

AROUND = int(AROUND_SECONDS * SECOND)
_SAME_DEED = int(SAME_DEED_SECONDS * SECOND)


@dataclass(frozen=True, slots=True)
class FaultSpan:
    """One fault. Times in nanoseconds."""

    kind: str
    what: tuple[str, ...]
    """The brokers or links, as they were logged."""
    begin: int
    healed: int
    """When the last of them was; `FOREVER` where one never was."""
    until: int
    """How long it is watched."""


class FaultTimes:
    """The faults of one variant, in order, to be looked up by time."""

    def __init__(self, faults: Sequence[FaultSpan] = ()) -> None:
        self.faults = tuple(faults)
        self._begins = [fault.begin for fault in faults]
        self._furthest = list(accumulate((fault.until for fault in faults), max))
        """How far the faults so far are watched."""

    def watched(self, start: int, end: int) -> Iterator[int]:
        """The numbers of the faults that are watched at any moment of this stretch, both ends included."""
        for number in range(bisect_right(self._begins, end) - 1, -1, -1):
            if self._furthest[number] < start:
                return
            if self.faults[number].until >= start:
                yield number

    def soon(self, time: int) -> range:
        """The numbers of the faults of which this moment is before, but not long."""
        return range(bisect_right(self._begins, time), bisect_right(self._begins, time + AROUND))


def fault_spans(events: Iterable[OutageEvent], recovery: int, brokers: Collection[str]) -> list[FaultSpan]:
    """The faults of one variant, in order, of its records `fault` and `healed`. `recovery` is in nanoseconds."""
    groups: list[list[Outage]] = []
    for one in outages(events, brokers):
        group = next((group for group in reversed(groups) if _belongs(one, group)), None)
        if group is None:
            groups.append([one])
        else:
            group.append(one)
    begins = [group[0].begin for group in groups]
    spans = []
    for group in groups:
        healed = max(one.end for one in group)
        later = bisect_right(begins, max(healed, group[-1].begin))
        following = begins[later] if later < len(begins) else FOREVER
        until = FOREVER if healed == FOREVER else min(healed + max(recovery, AROUND), following)
        what = tuple(dict.fromkeys(one.target for one in group))
        spans.append(FaultSpan(group[0].kind, what, group[0].begin, healed, until))
    return spans


def _belongs(one: Outage, group: Sequence[Outage]) -> bool:
    """The directions of a link are broken by one record; broken again, it is another fault."""
    if one.kind != group[0].kind or one.begin - group[-1].begin > _SAME_DEED:
        return False
    return all(one.target != other.target or one.begin == other.begin for other in group)


@dataclass(frozen=True, slots=True)
class Noticing:
    """Which neighbours noticed a fault, and when."""

    neighbours: int = 0
    """One for each end of a link."""
    first: float | None = None
    """From the fault, seconds."""
    last: float | None = None
    reconnected: int | None = None
    """When the last of those that were still without the neighbour at the heal had it again, nanoseconds; null where
    none was without it, or one of them never had it again."""


def noticing(fault: FaultSpan, changes: Iterable[NeighbourChange]) -> Noticing:
    """How the neighbours of a fault's brokers, or the ends of its links, saw it. Changes are in order of time."""
    noticed: list[int] = []
    reconnected: list[int | None] = []
    for of_link in _of_links(fault, changes):
        down = next((one.at.time for one in of_link if not one.up and fault.begin <= one.at.time <= fault.healed), None)
        if down is None:
            continue
        noticed.append(down)
        if not [one for one in of_link if one.at.time <= fault.healed][-1].up:
            back = (one.at.time for one in of_link if one.up and fault.healed < one.at.time <= fault.until)
            reconnected.append(next(back, None))
    times = [time for time in reconnected if time is not None]
    whole = bool(times) and len(times) == len(reconnected)
    return Noticing(
        neighbours=len(noticed),
        first=(min(noticed) - fault.begin) / SECOND if noticed else None,
        last=(max(noticed) - fault.begin) / SECOND if noticed else None,
        reconnected=max(times) if whole else None,
    )


def _of_links(fault: FaultSpan, changes: Iterable[NeighbourChange]) -> Iterable[list[NeighbourChange]]:
    """What each neighbour concerned saw of each link concerned."""
    struck = frozenset(fault.what)
    found: dict[tuple[str, str], list[NeighbourChange]] = defaultdict(list)
    for one in changes:
        a, b = one.node, one.neighbour
        if b in struck or not struck.isdisjoint((f"{a}-{b}", f"{b}-{a}", f"{a}->{b}", f"{b}->{a}")):
            found[a, b].append(one)
    return found.values()
