"""Neighbours to which a best-effort protocol promises to pass a publication on (`Promises.passes_on_within`).

A client with a settled matching subscription must be notified where some broker

1. is a neighbour of the client's broker over a link that was there long enough before the publication for the neighbour
   to know the subscription, and until the publication was no longer in flight; and
2. received the publication, and its first copy had travelled fewer links than promised. Of copies that came at the same
   time, the one that had travelled most counts, because the log does not tell which the router handled first.

Faults need no rule here, because no client is owed what was in flight during one that the protocol does not survive.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from analysis.reading.intervals import FOREVER, NONE, Intervals
from analysis.reading.overlay_changes import OverlayChanges
from record.promises import Completeness, Promises
from topology.link_properties import BrokerId
from topology.model import Overlay


class CopyArrival(NamedTuple):
    """A copy of a publication arrived."""

    broker: BrokerId
    time: int
    hops: int
    """Links that it had travelled."""


@dataclass(frozen=True, slots=True)
class Adjacency:
    """The neighbours of all brokers of one variant, and the promise that concerns them."""

    within: int
    """`Promises.passes_on_within`."""
    overlay: Overlay
    """With all links that it has at some time."""
    absent: Mapping[frozenset[BrokerId], Intervals]
    """Times in which a pair of brokers was not linked, or had not been for long."""

    def passing_on(self, arrivals: Iterable[CopyArrival]) -> set[BrokerId]:
        """The brokers that pass a publication with these arrivals on to all interested neighbours."""
        first: dict[BrokerId, tuple[int, int]] = {}
        for broker, time, hops in arrivals:
            earliest, travelled = first.get(broker, (FOREVER, 0))
            if time < earliest or (time == earliest and hops > travelled):
                first[broker] = time, hops
        return {broker for broker, (_, travelled) in first.items() if 0 <= travelled < self.within}

    def leads_to(self, broker: BrokerId, brokers: set[BrokerId], begin: int, end: int) -> bool:
        """True when one of these brokers was a neighbour of `broker` all the time."""
        return any(
            neighbour in brokers and not self.absent.get(frozenset((broker, neighbour)), NONE).overlaps(begin, end)
            for neighbour in self.overlay.neighbours(broker)
        )


def adjacency_of(promises: Promises, overlay: Overlay, changes: OverlayChanges | None, settle: int) -> Adjacency | None:
    """The neighbours in a variant; None where routing promises nothing about them.

    `settle` is the time in nanoseconds after which a new neighbour knows all subscriptions.
    """
    within = promises.passes_on_within
    if promises.delivery is Completeness.EVERY or within is msgspec.UNSET:
        return None
    if changes is None:
        return Adjacency(within, overlay, {})
    absent: dict[frozenset[BrokerId], list[tuple[int, int]]] = defaultdict(list)
    for a, b, begin, end in changes.links_out():
        absent[frozenset((a, b))].append((begin, FOREVER if end is None else end + settle))
    return Adjacency(within, changes.linked_ever, {pair: Intervals.of(times) for pair, times in absent.items()})
