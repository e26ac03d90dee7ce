"""Outages: from a fault to its heal, and from the end of a driver's session with a broker to the next one.

An outage is a fact of the log. What it excuses is decided by the delivery oracle
(`analysis.judging.histories.fault_costs`).
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from dataclasses import dataclass

from analysis.reading.intervals import FOREVER, Intervals
from analysis.reading.log_events import OutageEvent
from record.faults import FaultKind

_ANY_HEAL = ""
"""Stands for the heal of a fault of unknown kind: any heal of the same broker or link ends it."""


@dataclass(frozen=True, slots=True, order=True)
class Outage:
    """The time in which one broker, one direction of a link or one session was out of order in one way."""

    begin: int
    kind: str
    """The kind of the fault; empty for sessions."""
    target: str
    """Target as it was logged. One record of a link covers both directions, which may be healed separately."""
    end: int
    """`FOREVER` for an outage that never ended."""


def outages(events: Iterable[OutageEvent], brokers: Container[str] = ()) -> list[Outage]:
    """Pairs each begin with its end, in order of time. `brokers` distinguishes names of brokers from those of links."""
    begun: dict[tuple[str, str], OutageEvent] = {}
    found: list[Outage] = []
    for event in sorted(events):
        for target in separate_targets(event.target, brokers):
            if event.begins:
                begun.setdefault((target, _healed_by(event.kind)), event)
            else:
                healed = [key for key in begun if key[0] == target and key[1] in (event.kind, _ANY_HEAL)]
                found += [_outage(begun.pop(key), event.at.time) for key in healed]
    return sorted([*found, *(_outage(event, FOREVER) for event in begun.values())])


def lasting(outage: Outage, lingering: int) -> tuple[int, int]:
    """The interval from the start of an outage to `lingering` nanoseconds after its end."""
    return outage.begin, outage.end if outage.end == FOREVER else outage.end + lingering


def outage_intervals(events: Iterable[OutageEvent], lingering: int, brokers: Container[str] = ()) -> Intervals:
    """The union of all outages, each prolonged by `lingering` nanoseconds."""
    return Intervals.of(lasting(outage, lingering) for outage in outages(events, brokers))


def _healed_by(kind: str) -> str:
    known = FaultKind.named(kind)
    return _ANY_HEAL if known is None else known.healed_by


def _outage(event: OutageEvent, end: int) -> Outage:
    return Outage(event.at.time, event.kind, event.target, end)


def separate_targets(target: str, brokers: Container[str]) -> list[str]:
    """The parts that fail and heal separately: a broker, or each direction of a link (`A->B`; `A-B` is both)."""
    ends = None if target in brokers else link_ends(target, brokers)
    return [target] if ends is None else [f"{ends[0]}->{ends[1]}", f"{ends[1]}->{ends[0]}"]


def link_ends(link: str, brokers: Container[str]) -> tuple[str, str] | None:
    """The brokers of a link `A-B`, whose names may have dashes in them; None for another text."""
    for dash in re.finditer("-(?!>)", link):
        a, b = link[: dash.start()], link[dash.end() :]
        if a in brokers and b in brokers:
            return a, b
    return None
