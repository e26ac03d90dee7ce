"""Departures shortly before outages: the latest arrival at a broker that had left it for a neighbour by then.

Output queues are first in, first out. So a publication that came to a broker before another one, and did not leave for
the next broker though that other one did, was not waiting there any more. Gauges of queues come once a second, and a
broker that is killed takes the last one with it; departures tell to the message.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from analysis.judging.trace import Step, StepKind
from topology.link_properties import BrokerId

Departure = tuple[int, BrokerId, BrokerId]
"""The begin of an outage, a broker, and the neighbour for which publications left it."""


@dataclass(slots=True)
class DepartureTally:
    """The departures before the outages of all variants."""

    latest: dict[tuple[int, Departure], int] = field(default_factory=dict)
    """By variant: the time of arrival, at the broker, of the publication that came last of those that left in time."""

    def add(self, variant: int, begins: Iterable[int], steps: Sequence[Step]) -> None:
        """Adds a publication with the records of its copies, before outages that begin at these times."""
        arrived: dict[BrokerId, int] = {}
        left: list[tuple[Step, int]] = []
        for step in steps:
            if step.kind is StepKind.ARRIVED:
                arrived[step.broker] = step.time
            elif step.kind is StepKind.SENT and step.broker in arrived:
                left.append((step, arrived[step.broker]))
        for begin in begins:
            for step, came in left:
                if step.time < begin and step.peer is not None:
                    key = variant, (begin, step.broker, step.peer)
                    self.latest[key] = max(came, self.latest.get(key, came))

    def merge(self, other: DepartureTally) -> None:
        for key, came in other.latest.items():
            self.latest[key] = max(came, self.latest.get(key, came))

    def of(self, variant: int) -> Mapping[Departure, int]:
        """Those of one variant."""
        return {departure: came for (number, departure), came in self.latest.items() if number == variant}
