"""The time in which outages may cost a composite subscription publications, by the publisher's broker.

A publication travels from its publisher's broker to the broker that detects the composite subscription, and what is
detected there to the client's own broker. An outage of an element on any of these ways, or on the path of the unit, may
cost it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from analysis.judging.evidence.ways import Passing, Ways
from analysis.judging.histories.losses import LossyOutage
from analysis.reading.intervals import Intervals
from analysis.reading.placements import JoinPoint
from topology.link_properties import BrokerId


@dataclass(frozen=True, slots=True)
class Risks:
    """The risks of one composite subscription."""

    losses: Sequence[LossyOutage]
    ways: Ways
    broker: BrokerId | None
    """The client's."""
    joined: Sequence[JoinPoint] = ()
    """Its join points, where it is routed as a unit."""
    _known: dict[BrokerId | None, Intervals] = field(default_factory=dict, repr=False, compare=False)

    def of(self, origin: BrokerId | None) -> Intervals:
        """The time in which outages may cost it publications of clients of a broker."""
        found = self._known.get(origin)
        if found is None:
            found = self._known[origin] = Intervals.of(
                (outage.begin, outage.recovered) for outage in self.losses if self._passes(origin, outage.element)
            )
        return found

    def _passes(self, origin: BrokerId | None, element: str) -> bool:
        on_path = any(element in {point.broker, *point.placement.path} for point in self.joined)
        targets = {self.broker, *(point.broker for point in self.joined)}
        return on_path or any(self.ways.passing(origin, target, element) > Passing.NEVER for target in targets)
