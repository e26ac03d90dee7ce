"""Exits: the links out of the brokers that a publication reached, where each was shut.

A protocol may send publications over links that are up and keep nothing for those that are down. Whatever ways it takes
then, a publication cannot leave a set of brokers without any way out. So it is lost where each *exit*, a direction of a
link from a broker that it reached to one that it did not reach, was

1. *closed*: its own broker had recorded the link as down when the first copy came, and had not got it back; or
2. *costly*: a copy was sent over it or dropped for it, and never came;

and a lossy outage explains that: of the link in either direction, because its streams need both, of the broker that
was not reached, or of the one that closed its link. One open exit is enough for no excuse. Exits that are on no way
between publisher and subscriber do not count.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from analysis.judging.evidence.ways import Passing, Ways
from analysis.judging.histories.losses import LossyOutage
from analysis.judging.trace import CopyTrace, Step, StepKind
from analysis.reading.intervals import FOREVER, NONE, Intervals
from analysis.reading.log_events import NeighbourChange
from record.time_units import SECOND
from topology.link_properties import BrokerId

ClosedLinks = Mapping[tuple[BrokerId, BrokerId], Intervals]
"""Times in which a broker had lost a neighbour, by its own records; by broker and neighbour."""


class ShutExit(NamedTuple):
    """An exit that was shut, and the outage that explains it."""

    source: BrokerId
    target: BrokerId
    record: str
    """The record that shows it."""
    outage: LossyOutage


@dataclass(frozen=True, slots=True)
class Exits:
    """The exits of one variant's brokers."""

    ways: Ways
    losses: Sequence[LossyOutage]
    closed: ClosedLinks
    within: int
    """Nanoseconds that a message may take over a link, or wait before it."""

    def shut(self, steps: Sequence[Step], origin: BrokerId | None, target: BrokerId | None) -> list[ShutExit]:
        """The exits that kept a publication with these records from a broker; none where one of them was open, it came
        there, or no broker recorded it."""
        trace = CopyTrace(steps)
        came: dict[BrokerId, int] = {}
        for step in steps:
            if step.kind is StepKind.ARRIVED:
                came[step.broker] = min(step.time, came.get(step.broker, FOREVER))
        if target is None or target in came:
            return []
        found = [
            self._shut(trace, broker, neighbour, time)
            for broker, time in came.items()
            for neighbour in sorted(self.ways.overlay.neighbours(broker))
            if neighbour not in came and self.ways.passing(origin, target, f"{broker}->{neighbour}") > Passing.NEVER
        ]
        shut = [shut for shut in found if shut is not None]
        return shut if len(shut) == len(found) else []

    def waiting(
        self, arrivals: Iterable[Step], origin: BrokerId | None, target: BrokerId | None, until: int
    ) -> str | None:
        """The records of a copy, one of these at a broker, that may have waited there until a time for a link to a
        neighbour, which the broker had lost before the copy came, or before it can have been on its way for long."""
        for step in arrivals:
            for neighbour in sorted(self.ways.overlay.neighbours(step.broker)):
                closed = self.closed.get((step.broker, neighbour), NONE)
                by_then = min(step.time + self.within, until)
                lasting = closed.overlaps(by_then, by_then) and closed.settled(by_then, by_then) >= until
                leads_on = self.ways.passing(origin, target, f"{step.broker}->{neighbour}") > Passing.NEVER
                if step.time < until and lasting and leads_on:
                    return f"{step}; {step.broker} had no link to {neighbour} when it ended"
        return None

    def _shut(self, trace: CopyTrace, broker: BrokerId, neighbour: BrokerId, came: int) -> ShutExit | None:
        onward = f"{broker}->{neighbour}", f"{neighbour}->{broker}", neighbour
        if self.closed.get((broker, neighbour), NONE).overlaps(came, came):
            outage = self._explaining((*onward, broker), came, came)
            record = f"{broker} had no link to {neighbour} at {came / SECOND:.3f} s"
            return None if outage is None else ShutExit(broker, neighbour, record, outage)
        dropped = (step for step in trace.drops() if step.broker == broker and step.peer == neighbour)
        for step in chain(trace.sent(broker, neighbour), dropped):
            outage = self._explaining(onward, step.time, step.time + self.within)
            if outage is not None:
                return ShutExit(broker, neighbour, str(step), outage)
        return None

    def _explaining(self, elements: Iterable[str], begin: int, end: int) -> LossyOutage | None:
        """An outage of the first of these elements from which the overlay had not recovered at `begin`, and that had
        begun by `end`."""
        lasting = [loss for loss in self.losses if loss.begin <= end and begin <= loss.recovered]
        return next((loss for element in elements for loss in lasting if loss.element == element), None)


def closed_links(changes: Iterable[NeighbourChange]) -> ClosedLinks:
    """The closed links of one variant, by the changes of its brokers' neighbours."""
    by_ends: defaultdict[tuple[BrokerId, BrokerId], list[NeighbourChange]] = defaultdict(list)
    for change in sorted(changes):
        by_ends[change.node, change.neighbour].append(change)
    return {ends: Intervals.of(_down(of_link)) for ends, of_link in by_ends.items()}


def _down(changes: Iterable[NeighbourChange]) -> Iterator[tuple[int, int]]:
    since: int | None = None
    for change in changes:
        if not change.up and since is None:
            since = change.at.time
        elif change.up and since is not None:
            yield since, change.at.time
            since = None
    if since is not None:
        yield since, FOREVER
