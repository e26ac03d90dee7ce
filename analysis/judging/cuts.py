"""The time in which faults cut brokers off from each other.

1. A broker is out while it is down or frozen, and a link while either of its directions is down, because the streams of
   a link need both.
2. Two brokers are cut off from each other while no path of brokers and links that work joins them, and until the
   overlay has recovered from that.
3. A cut that has not recovered when the run ends is one that never ends.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from analysis.reading.intervals import FOREVER, NONE, Intervals
from analysis.reading.outages import Outage, separate_targets
from topology.model import Overlay

_Islands = Mapping[str, int]
"""The number of its island by broker. Brokers on one island reach each other; a broker that is out is on none."""


@dataclass(frozen=True, slots=True)
class Cuts:
    """Cuts of one variant's overlay."""

    moments: Sequence[int] = ()
    """The times at which something failed or was healed, in ascending order."""
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
    brokers = {broker.id for broker in overlay.brokers}
    moments = sorted({time for outage in cutting for time in (outage.begin, outage.end) if time < FOREVER})
    parts = [(outage, separate_targets(outage.target, brokers)) for outage in cutting]
    out = ([part for outage, of in parts if outage.begin <= time < outage.end for part in of] for time in moments)
    return Cuts(moments, [_islands(overlay, frozenset(parts_out)) for parts_out in out], lingering, run_end)


def _islands(overlay: Overlay, out: Collection[str]) -> _Islands:
    """The islands of an overlay in which these brokers and directions of links are out."""
    found: dict[str, int] = {}
    for broker in overlay.brokers:
        if broker.id in found or broker.id in out:
            continue
        number, reached = len(found), [broker.id]
        found[broker.id] = number
        while reached:
            for neighbour in _passable(overlay, reached.pop(), out):
                if neighbour not in found:
                    found[neighbour] = number
                    reached.append(neighbour)
    return found


def _passable(overlay: Overlay, broker: str, out: Collection[str]) -> Iterable[str]:
    for neighbour in overlay.neighbours(broker):
        if neighbour not in out and f"{broker}->{neighbour}" not in out and f"{neighbour}->{broker}" not in out:
            yield neighbour
