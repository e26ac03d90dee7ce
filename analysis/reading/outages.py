"""When the overlay was not itself: from a fault until some time after it is healed.

What an outage excuses is the delivery oracle's business (`analysis.judging.oracle`); here are only stretches of time.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from analysis.reading.reading import Outage

FOREVER = 1 << 62
"""Later than any time in a log."""


class FaultRule(NamedTuple):
    """What ends faults of a kind, and what they excuse."""

    healed_by: str
    """Several kinds may strike the same broker or link at a time."""
    excuses_loss: bool
    """Whether publications under way may be lost. Operations in flight settle when it is over under every kind."""
    silences: bool = True
    """Whether what brokers say to each other waits until it is over: then so does recovery from other faults."""


FAULT_RULES: Mapping[str, FaultRule] = {
    "kill": FaultRule("restart", excuses_loss=True),
    "stop": FaultRule("restart", excuses_loss=True),
    "pause": FaultRule("resume", excuses_loss=False),
    "slow": FaultRule("full_speed", excuses_loss=False, silences=False),
    "throttle": FaultRule("unthrottle", excuses_loss=False, silences=False),
    "link_down": FaultRule("link_up", excuses_loss=False),
    "degrade": FaultRule("recover", excuses_loss=False, silences=False),
    "corrupt": FaultRule("clean", excuses_loss=False, silences=False),
}
"""By kind, as docs/guarantees.md promises. A partition and a link that flaps are links that are down."""
UNKNOWN_FAULT = FaultRule("", excuses_loss=True)
"""Any repair of the same broker or link ends it."""


def rule_of(kind: str) -> FaultRule:
    return FAULT_RULES.get(kind, UNKNOWN_FAULT)


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


@dataclass(frozen=True, slots=True, order=True)
class Break:
    """From when one thing was broken in one way until it was repaired."""

    begin: int
    kind: str
    """Of the fault; empty for sessions."""
    what: str
    """As it was logged: one record of a link breaks both directions, which may be repaired one by one."""
    end: int
    """`FOREVER` where it never was."""


def breaks(outages: Iterable[Outage], brokers: Container[str] = ()) -> list[Break]:
    """Each break with its repair, in order. `brokers` tells the name of a broker from that of a link."""
    broken: dict[tuple[str, str], Outage] = {}
    found: list[Break] = []
    for outage in sorted(outages):
        for thing in _things(outage.what, brokers):
            if outage.broken:
                broken.setdefault((thing, rule_of(outage.kind).healed_by), outage)
            else:
                healed = [key for key in broken if key[0] == thing and key[1] in (outage.kind, "")]
                found += [_break(broken.pop(key), outage.at.time) for key in healed]
    return sorted([*found, *(_break(outage, FOREVER) for outage in broken.values())])


def _break(outage: Outage, end: int) -> Break:
    return Break(outage.at.time, outage.kind, outage.what, end)


def stretches(outages: Iterable[Outage], lingering: int, brokers: Container[str] = ()) -> Stretches:
    """From each break to the repair of the same thing and so many nanoseconds on; for ever where it never is."""
    return Stretches.of(_lasting(one, lingering) for one in breaks(outages, brokers))


def losing(faults: Iterable[Outage], lingering: int, brokers: Container[str] = ()) -> Stretches:
    """In which publications may be lost: from each fault that takes messages with it until the overlay has recovered.

    It has not while another fault keeps brokers from speaking with each other: what has to be said again waits.
    """
    every = breaks(faults, brokers)
    silent = _silent(every, lingering)
    lost = (_lasting(one, lingering) for one in every if rule_of(one.kind).excuses_loss)
    return Stretches.of((begin, silent.settled(begin, end)) for begin, end in lost)


def silencing(faults: Iterable[Outage], lingering: int, brokers: Container[str] = ()) -> Stretches:
    """In which publications may stand in a queue unseen, because brokers cannot speak with each other."""
    return _silent(breaks(faults, brokers), lingering)


def _silent(every: Iterable[Break], lingering: int) -> Stretches:
    return Stretches.of(_lasting(one, lingering) for one in every if rule_of(one.kind).silences)


def _lasting(one: Break, lingering: int) -> tuple[int, int]:
    """From a break until so long after its repair."""
    return one.begin, one.end if one.end == FOREVER else one.end + lingering


def _things(what: str, brokers: Container[str]) -> list[str]:
    """What breaks and is repaired by itself: a broker, or one direction of a link (`A->B`; `A-B` is both)."""
    for dash in re.finditer("-(?!>)", what):
        a, b = what[: dash.start()], what[dash.end() :]
        if a in brokers and b in brokers and what not in brokers:
            return [f"{a}->{b}", f"{b}->{a}"]
    return [what]
