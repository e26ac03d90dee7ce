"""Join points are put together from the records of their begin and end."""

from __future__ import annotations

from analysis.reading.intervals import FOREVER
from analysis.reading.log_events import LogPosition
from analysis.reading.placements import DetectingBroker, DetectionReadings, PlacementEvent, join_points
from record.log import Event, PlacementRecord
from record.time_units import SECOND

DETECTING = DetectingBroker(0, "B1", "S", "c1")


def event(
    kind: Event, at: int, broker: str, unit: str = "u", epoch: int = 1, reason: str = "", peer: str | None = None
) -> PlacementEvent:
    placement = PlacementRecord(unit=unit, epoch=epoch, path=("B1", broker), matches=1.0, parts=(1.0,))
    return PlacementEvent(LogPosition(at, broker, 0, at), 0, kind, broker, "S", "c1", placement, reason, peer)


def test_a_join_point_lasts_until_it_is_left() -> None:
    """A move does not end it, and other units and brokers have ends of their own."""
    events = [
        event(Event.LEFT, 9, "B2", reason="moved"),
        event(Event.JOINED, 1, "B2", reason="least cost"),
        event(Event.MOVED, 4, "B2", peer="B3"),
        event(Event.JOINED, 5, "B3", peer="B2"),
        event(Event.JOINED, 6, "B2", unit="v"),
    ]
    found = [(point.broker, point.placement.unit, point.joined, point.left) for point in join_points(events)]
    assert found == [("B2", "u", 1, 9), ("B3", "u", 5, FOREVER), ("B2", "v", 6, FOREVER)]
    first, second, _ = join_points(events)
    assert (first.reason, first.ending, first.former) == ("least cost", "moved", None)
    assert (second.ending, second.former) == (None, "B2")


def test_a_broker_that_begins_again_has_crashed_in_between() -> None:
    events = [event(Event.JOINED, 1, "B2"), event(Event.JOINED, 7, "B2", epoch=2), event(Event.LEFT, 8, "B2", epoch=2)]
    found = [(point.placement.epoch, point.joined, point.left) for point in join_points(events)]
    assert found == [(1, 1, 7), (2, 7, 8)]


def test_detections_are_counted_by_second() -> None:
    readings, later = DetectionReadings(), DetectionReadings()
    for time in (3 * SECOND, 3 * SECOND + 1, 5 * SECOND):
        readings.show(DETECTING, time)
    later.show(DETECTING, 5 * SECOND + 7)
    later.show(DetectingBroker(0, "B2", "S", "c1"), 5 * SECOND)
    for row in later:
        readings.add(row)
    assert list(readings.by_second(DETECTING)) == [(3, 2), (5, 1), (5, 1)]
    assert list(readings.by_second(DetectingBroker(1, "B1", "S", "c1"))) == []
