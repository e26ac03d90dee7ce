"""The recovery of a best-effort overlay from its outages, as brokers' own records of their links show it.

A protocol that promises every publication repairs its tables by rounds of its own, which no record of a link shows. One
that promises best effort has nothing to repair: once a link is up again at both ends, or all links of a broker, brokers
tell each other their subscriptions over it, and these settle as all others do. So

1. a link's direction has recovered when both ends have each other again, by the last record of either that falls into
   the time of recovery, and subscriptions have settled. An end without any record never lost the other;
2. a broker has recovered when each of its links has, and its clients' subscriptions hold again (`LossyOutage.served`);
3. recovery from one outage is not complete before that from another, which began meanwhile;
4. an end that does not have the other again leaves the time that the manifest allows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from analysis.judging.histories.losses import LossyOutage
from analysis.reading.intervals import FOREVER, Intervals
from analysis.reading.log_events import NeighbourChange
from topology.link_properties import BrokerId
from topology.model import Overlay

_Changes = Mapping[tuple[BrokerId, BrokerId], Sequence[NeighbourChange]]
"""Neighbours lost and found, by a broker and its neighbour, in order of time."""


def reconnected(
    losses: Iterable[LossyOutage], overlay: Overlay, changes: Iterable[NeighbourChange], settled: int
) -> list[LossyOutage]:
    """The outages of a best-effort variant, each with the time by which the overlay had recovered from it. `changes`
    are the variant's; `settled` are the nanoseconds that subscriptions take to settle."""
    by_ends: defaultdict[tuple[BrokerId, BrokerId], list[NeighbourChange]] = defaultdict(list)
    for change in sorted(changes):
        by_ends[change.node, change.neighbour].append(change)
    earlier = [_earlier(loss, overlay, by_ends, settled) for loss in losses]
    together = Intervals.of((loss.begin, loss.recovered) for loss in earlier)
    return [replace(loss, recovered=together.settled(loss.begin, loss.recovered)) for loss in earlier]


def _earlier(loss: LossyOutage, overlay: Overlay, changes: _Changes, settled: int) -> LossyOutage:
    """The outage with the time of its own recovery."""
    if loss.end == FOREVER:
        return loss
    links = [loss.ends] if loss.ends else [(loss.element, neighbour) for neighbour in overlay.neighbours(loss.element)]
    back = [_back(loss, changes.get(ends, ())) for a, b in links for ends in ((a, b), (b, a))]
    recovered = max(back, default=loss.end) + settled
    if not loss.ends:
        recovered = max(recovered, loss.served)
    return replace(loss, recovered=min(loss.recovered, recovered))


def _back(loss: LossyOutage, changes: Iterable[NeighbourChange]) -> int:
    """The time from which one end of a link has the other after an outage; `FOREVER` where it never has it again."""
    meanwhile = [change for change in changes if loss.begin <= change.at.time <= loss.recovered]
    if not meanwhile:
        return loss.end
    return max(loss.end, meanwhile[-1].at.time) if meanwhile[-1].up else FOREVER
