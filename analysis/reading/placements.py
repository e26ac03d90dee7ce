"""Join points of composite subscriptions that are routed as units: the brokers that detected each, and when.

Also the number of detections that brokers made of each composite subscription, second by second.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from analysis.reading.intervals import FOREVER
from analysis.reading.log_events import LogPosition
from analysis.tables.totals import Series
from record.log import SUB_UNIT, Event, PlacementRecord
from record.time_units import SECOND


class PlacementEvent(NamedTuple):
    """A change of the place at which a unit, a composite subscription routed as a whole, is detected.

    A broker has begun to detect the unit, has sent it on to another broker, or has stopped detecting it.
    """

    at: LogPosition
    variant: int
    event: Event
    """JOINED, MOVED or LEFT."""
    broker: str
    client: str
    composite: str
    """The client's name for the composite subscription."""
    placement: PlacementRecord
    reason: str
    peer: str | None
    """If the unit moved: for JOINED the former join point, for MOVED the next one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinPoint:
    """A broker that detected a unit for some time."""

    variant: int
    broker: str
    client: str
    composite: str
    placement: PlacementRecord
    """The decision with which it began."""
    reason: str
    former: str | None
    """The join point that the unit moved from; None for the first of an epoch."""
    joined: int
    left: int = FOREVER
    """`FOREVER` where the log has no end of it: it lasts to the end of the run, or to a crash of the broker."""
    ending: str | None = None
    """The reason for which it ended."""

    @property
    def name(self) -> tuple[int, str, str]:
        """The variant, the client, and its name for the composite subscription."""
        return self.variant, self.client, self.composite

    @property
    def detecting(self) -> DetectingBroker:
        """The broker, as it makes detections of the unit."""
        unit = self.placement.unit
        part = unit if SUB_UNIT in unit else ""
        return DetectingBroker(self.variant, self.broker, self.client, self.composite, part)


class DetectingBroker(NamedTuple):
    """A broker that made detections of a composite subscription."""

    variant: int
    broker: str
    client: str
    composite: str
    sub_unit: str = ""
    """The unit that made them, where that is a part of the composite subscription."""


class DetectionReadings(Series[DetectingBroker]):
    """Detections that brokers made of composite subscriptions: pairs of the second of the run's clock, and detections
    in it. A second may occur more than once."""

    def __init__(self) -> None:
        super().__init__(DetectingBroker)

    def show(self, detecting: DetectingBroker, time: int) -> None:
        made, second = self.of(detecting), time // SECOND
        if made and made[-2] == second:
            made[-1] += 1
        else:
            made.extend((second, 1))

    def by_second(self, detecting: DetectingBroker) -> Iterator[tuple[int, int]]:
        """The seconds in which a broker made detections, and how many; in any order."""
        made = self.by_key.get(detecting, ())
        return zip(made[::2], made[1::2], strict=True)


def join_points(events: Iterable[PlacementEvent]) -> list[JoinPoint]:
    """The join points of all units, in the order in which they began.

    A broker that begins again with a unit that it has not left has crashed in between.
    """
    found: list[JoinPoint] = []
    standing: dict[tuple[int, str, str], PlacementEvent] = {}
    for event in sorted(events, key=lambda event: event.at):
        key = event.variant, event.broker, event.placement.unit
        if event.event is Event.MOVED:
            continue
        if (begun := standing.pop(key, None)) is not None:
            found.append(_join_point(begun, event.at.time, event.reason if event.event is Event.LEFT else None))
        if event.event is Event.JOINED:
            standing[key] = event
    found += (_join_point(begun, FOREVER, None) for begun in standing.values())
    return sorted(found, key=lambda point: (point.variant, point.joined, point.placement.unit, point.broker))


def _join_point(begun: PlacementEvent, left: int, ending: str | None) -> JoinPoint:
    return JoinPoint(
        variant=begun.variant,
        broker=begun.broker,
        client=begun.client,
        composite=begun.composite,
        placement=begun.placement,
        reason=begun.reason,
        former=begun.peer,
        joined=begun.at.time,
        left=left,
        ending=ending,
    )
