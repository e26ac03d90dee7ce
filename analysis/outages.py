"""When the overlay was not itself: from a fault until some time after it is healed.

What an outage excuses is the delivery oracle's business (`analysis.oracle`); here are only stretches of time.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Container, Iterable
from dataclasses import dataclass

from analysis.reading import Outage

FOREVER = 1 << 62
"""Later than any time in a log."""

_HEALED_BY = {
    "kill": "restart",
    "stop": "restart",
    "pause": "resume",
    "link_down": "link_up",
    "degrade": "recover",
    "corrupt": "clean",
    "slow": "full_speed",
    "throttle": "unthrottle",
    "clock_jump": "clock_steady",
}
"""What ends a fault of a kind, where several may strike the same broker or link at a time."""
SLOWDOWNS = frozenset({"slow", "throttle", "clock_jump"})
"""Faults under which nothing may be lost, though all takes longer."""


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
        """When that is over which takes from `since` to `until` where nothing is broken: an outage is waited for."""
        return max(until, self._last(until)) if self.meets(since, until) else until

    def _last(self, time: int) -> int:
        """The end of the last one that has begun by then; -1 where none has."""
        number = bisect_right(self.starts, time)
        return self.ends[number - 1] if number else -1


NONE = Stretches()


def stretches(outages: Iterable[Outage], lingering: int, brokers: Container[str] = ()) -> Stretches:
    """From each break to the repair of the same thing and so many nanoseconds on; for ever where it never is.

    `brokers` tells the name of a broker from that of a link.
    """
    broken: dict[tuple[str, str], int] = {}
    found: list[tuple[int, int]] = []
    for outage in sorted(outages):
        for thing in _things(outage.what, brokers):
            if outage.broken:
                broken.setdefault((thing, _HEALED_BY.get(outage.kind, "")), outage.at.time)
            else:
                healed = [key for key in broken if key[0] == thing and key[1] in (outage.kind, "")]
                found += [(broken.pop(key), outage.at.time + lingering) for key in healed]
    return Stretches.of([*found, *((start, FOREVER) for start in broken.values())])


def _things(what: str, brokers: Container[str]) -> list[str]:
    """What breaks and is repaired by itself: a broker, or one direction of a link (`A->B`; `A-B` is both)."""
    for dash in re.finditer("-(?!>)", what):
        a, b = what[: dash.start()], what[dash.end() :]
        if a in brokers and b in brokers and what not in brokers:
            return [f"{a}->{b}", f"{b}->{a}"]
    return [what]
