"""Ways of publications, from sightings in any order."""

from __future__ import annotations

import random

from analysis.judging.journeys import Journey, way_of
from analysis.reading.publication_events import Arrived, Left, Notified, Sighting


def arrived(broker: str, neighbour: str | None, time: int, hops: int) -> Arrived:
    return Arrived(0, "P:1", time, broker, neighbour, hops)


def left(broker: str, neighbour: str, time: int, waited: int | None) -> Left:
    return Left(0, "P:1", time, broker, neighbour, waited)


SIGHTINGS: list[Sighting] = [
    arrived("B1", None, 0, 0),
    left("B1", "B2", 1, 10),
    arrived("B2", "B1", 5, 1),
    left("B1", "B2", 9, 20),
    arrived("B2", "B1", 12, 1),
    left("B2", "B3", 6, 100),
    arrived("B3", "B2", 15, 2),
    Notified(0, "P:1", 20, "S", "B3", 2, 0),
]


def test_a_copy_is_the_one_that_was_sent_last_before_it_came() -> None:
    for seed in range(20):
        shuffled = random.Random(seed).sample(SIGHTINGS, len(SIGHTINGS))
        journey = Journey.of(shuffled)
        ways = journey.ways()
        assert [(way.broker, way.time, way.waited) for way in ways] == [
            ("B1", 0, 0),
            ("B2", 5, 10),
            ("B2", 12, 20),
            ("B3", 15, 110),
        ]
        way = way_of(journey.notified[0], ways)
        assert way is not None
        assert way.path == ("B1", "B2", "B3")


def test_a_way_that_the_log_does_not_hold_is_unknown() -> None:
    journey = Journey.of([one for one in SIGHTINGS if not (isinstance(one, Left) and one.broker == "B2")])
    assert way_of(journey.notified[0], journey.ways()) is None
    assert journey.reached == ("B1", "B2", "B2", "B3")


def test_a_wait_that_was_not_logged_leaves_the_path() -> None:
    journey = Journey.of([arrived("B1", None, 0, 0), left("B1", "B2", 1, None), arrived("B2", "B1", 5, 1)])
    assert [(way.path, way.waited) for way in journey.ways()] == [(("B1",), 0), (("B1", "B2"), None)]
