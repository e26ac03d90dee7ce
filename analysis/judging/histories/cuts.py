"""The time in which faults cut brokers off from each other.

1. A broker is out while it is down or frozen, and a link while either of its directions is down, because the streams of
   a link need both.
2. Two brokers are cut off from each other while no path of brokers and links that work joins them, and until the
   overlay has recovered from that.
3. A cut that has not recovered when the run ends is one that never ends.

Islands are found anew after each change, over what works then; changes that leave them as they were add nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from operator import attrgetter
from typing import NamedTuple

from analysis.reading.intervals import FOREVER, NONE, Intervals
from analysis.reading.outages import Outage, separate_targets
from topology.model import Overlay

_Islands = Mapping[str, int]
"""The number of its island by broker. Brokers on one island reach each other; a broker that is out is on none."""


@dataclass(frozen=True, slots=True)
class Cuts:
    """Cuts of one variant's overlay."""

    moments: Sequence[int] = ()
    """The times at which the islands changed, in ascending order; the first is that at which something failed first."""
    islands: Sequence[_Islands] = ()
    """From each moment to the next; from the last one on."""
    lingering: int = 0
    """Nanoseconds of recovery after a cut."""
    run_end: int = FOREVER
    _between: dict[tuple[str, str], Intervals] = field(default_factory=dict, repr=False, compare=False)

    def between(self, a: str | None, b: str | None) -> Intervals:
        """The time in which these two were cut off from each other; never, where one of them is not known."""
        if not self.moments or a is None or b is None:
            return NONE
        pair = (a, b) if a < b else (b, a)
        found = self._between.get(pair)
        if found is None:
            found = self._between[pair] = self._cut(*pair)
        return found

    def _cut(self, a: str, b: str) -> Intervals:
        apart = Intervals.of(
            times
            for times, islands in zip(pairwise((*self.moments, FOREVER)), self.islands, strict=True)
            if a not in islands or islands[a] != islands.get(b)
        )
        return Intervals.of((begin, self._recovered(end)) for begin, end in zip(apart.starts, apart.ends, strict=True))

    def _recovered(self, end: int) -> int:
        return FOREVER if end + self.lingering >= self.run_end else end + self.lingering


NO_CUTS = Cuts()


def cuts_of(overlay: Overlay, cutting: Collection[Outage], lingering: int, run_end: int) -> Cuts:
    """The cuts by these outages of brokers and links, each of which lets nothing pass."""
    changes = _changes(cutting, {broker.id for broker in overlay.brokers})
    if not changes:
        return Cuts((), (), lingering, run_end)
    working = _WorkingOverlay(overlay)
    moments: list[int] = []
    found: list[_Islands] = []
    for time, group in groupby(changes, key=attrgetter("time")):
        for change in group:
            working.apply(change)
        islands = working.islands()
        if not found or islands != found[-1]:
            moments.append(time)
            found.append(islands)
    return Cuts(moments, found, lingering, run_end)


class _Change(NamedTuple):
    """An outage of a broker or of one direction of a link begins (1) or ends (-1)."""

    time: int
    part: str
    outages: int


def _changes(cutting: Iterable[Outage], brokers: Collection[str]) -> list[_Change]:
    """Begins and ends of outages in order of time, less the ends of those that never end."""
    parts = [(outage, part) for outage in cutting for part in separate_targets(outage.target, brokers)]
    begins = (_Change(outage.begin, part, 1) for outage, part in parts)
    ends = (_Change(outage.end, part, -1) for outage, part in parts)
    return sorted(change for change in (*begins, *ends) if change.time < FOREVER)


class _WorkingOverlay:
    """The brokers and links of an overlay that work after the changes so far."""

    def __init__(self, overlay: Overlay) -> None:
        self._neighbours = {broker.id: set(overlay.neighbours(broker.id)) for broker in overlay.brokers}
        """Brokers at the other ends of each broker's links that work, though one of the two brokers may be out."""
        self._out: set[frozenset[str]] = set()
        """Ends of the links that do not work."""
        self._outages: Counter[str] = Counter()
        """Present outages of each broker and of each direction of a link."""

    def apply(self, change: _Change) -> None:
        self._outages[change.part] += change.outages
        a, _, b = change.part.partition("->")
        if self._outages[f"{a}->{b}"] or self._outages[f"{b}->{a}"]:
            self._take_out(a, b)
        else:
            self._restore(a, b)

    def _take_out(self, a: str, b: str) -> None:
        if b in self._neighbours.get(a, ()):
            self._out.add(frozenset((a, b)))
            self._neighbours[a].remove(b)
            self._neighbours[b].remove(a)

    def _restore(self, a: str, b: str) -> None:
        ends = frozenset((a, b))
        if ends in self._out:
            self._out.remove(ends)
            self._neighbours[a].add(b)
            self._neighbours[b].add(a)

    def islands(self) -> _Islands:
        """Takes time in proportion to the brokers and the links that work, however many others there were."""
        found: dict[str, int] = {}
        unseen = {broker for broker in self._neighbours if not self._outages[broker]}
        for broker in self._neighbours:
            if broker not in unseen:
                continue
            number, reached = len(found), [broker]
            unseen.remove(broker)
            while reached:
                found[reached[-1]] = number
                near = unseen & self._neighbours[reached.pop()]
                unseen -= near
                reached += near
        return found
