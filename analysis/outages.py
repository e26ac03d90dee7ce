"""When the overlay was not itself: from a fault until some time after it is healed.

What counts as an outage, and how long its traces last, is the delivery oracle's business (`analysis.oracle`); here are
only stretches of time.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

from analysis.reading import Outage

FOREVER = 1 << 62
"""Later than any time in a log."""


@dataclass(frozen=True, slots=True)
class Stretches:
    """Disjoint stretches of time, in order, both ends included."""

    starts: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()

    @classmethod
    def of(cls, stretches: Iterable[tuple[int, int]]) -> Stretches:
        """Those that overlap become one."""
        merged: list[list[int]] = []
        for start, end in sorted(stretches):
            if merged and start <= merged[-1][1]:
                merged[-1][1] = max(merged[-1][1], end)
            else:
                merged.append([start, end])
        return cls(tuple(start for start, _ in merged), tuple(end for _, end in merged))

    def meets(self, start: int, end: int) -> bool:
        """Whether any of them has a moment in common with this one."""
        return self._last(end) >= start

    def settled(self, since: int, until: int) -> int:
        """When that is over which takes from `since` to `until` where nothing is broken: where something is, its end
        is waited for."""
        return max(until, self._last(until)) if self.meets(since, until) else until

    def _last(self, time: int) -> int:
        """The end of the last one that has begun by then; -1 where none has."""
        number = bisect_right(self.starts, time)
        return self.ends[number - 1] if number else -1


NONE = Stretches()


def stretches(outages: Iterable[Outage], lingering: int) -> Stretches:
    """From each break to the repair of the same thing and so many nanoseconds on; for ever where it never is."""
    broken: dict[str, int] = {}
    found: list[tuple[int, int]] = []
    for outage in sorted(outages):
        name = _same_either_way(outage.what)
        if outage.broken:
            broken.setdefault(name, outage.at.time)
        elif name in broken:
            found.append((broken.pop(name), outage.at.time + lingering))
    return Stretches.of([*found, *((start, FOREVER) for start in broken.values())])


def _same_either_way(what: str) -> str:
    """A link is the same whichever end is named first."""
    return "-".join(sorted(what.split("-")))
