"""Starts of restarted brokers: from the restart until the broker listened for clients, as looks from outside found.

1. A broker that was restarted is down until it listens. Its start lasts to the last look that found nobody listening,
   so that no time is the start's without a look that says so.
2. Sessions, links and subscriptions have their time to return from then on.
3. A broker that no look found listening has no start: its sessions are due since its restart.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from analysis.reading.log_events import ListeningEvent, OutageEvent
from record.faults import FaultKind, HealKind

_DOWN = frozenset({FaultKind.KILL, FaultKind.STOP})


class BrokerStart(NamedTuple):
    """One start of a broker. Times are nanoseconds."""

    broker: str
    restarted: int
    """The time at which its process or its container was up."""
    listened: int
    """The last look that found nobody listening; never before `restarted`."""


def broker_starts(faults: Iterable[OutageEvent], listening: Iterable[ListeningEvent]) -> list[BrokerStart]:
    """The starts of one variant's restarted brokers, in order of time; none where nobody looked."""
    found: dict[str, list[ListeningEvent]] = {}
    for event in sorted(listening, key=lambda event: event.seen):
        found.setdefault(event.broker, []).append(event)
    changes = sorted(fault for fault in faults if fault.target in found)
    starts = []
    for number, change in enumerate(changes):
        if change.begins or change.kind != HealKind.RESTART:
            continue
        of_broker = found[change.target]
        place = bisect_left(of_broker, change.at.time, key=lambda event: event.seen)
        later = (other.at.time for other in changes[number + 1 :] if _ends(other, change.target))
        if place < len(of_broker) and of_broker[place].seen <= next(later, of_broker[place].seen):
            starts.append(BrokerStart(change.target, change.at.time, max(change.at.time, of_broker[place].not_before)))
    return starts


def lasting_until_they_listen(faults: Iterable[OutageEvent], starts: Sequence[BrokerStart]) -> list[OutageEvent]:
    """The faults and heals, with each restart at the end of its start."""
    ends = {(start.broker, start.restarted): start.listened for start in starts}

    def moved(event: OutageEvent) -> OutageEvent:
        is_restart = not event.begins and event.kind == HealKind.RESTART
        listened = ends.get((event.target, event.at.time)) if is_restart else None
        return event if listened is None else event._replace(at=event.at._replace(time=listened))

    return [moved(event) for event in faults]


def _ends(event: OutageEvent, broker: str) -> bool:
    """True of a fault after which nobody listens, or a later broker."""
    return event.begins and event.target == broker and event.kind in _DOWN
