"""Paths of publications, from events in any order."""

from __future__ import annotations

import random

from analysis.judging.journeys import Journey, path_of
from analysis.reading.publication_events import Notified, PublicationEvent, Received, Sent


def received(broker: str, neighbour: str | None, time: int, hops: int) -> Received:
    return Received(0, "P:1", time, broker, neighbour, hops)


def sent(broker: str, neighbour: str, time: int, waited: int | None) -> Sent:
    return Sent(0, "P:1", time, broker, neighbour, waited)


EVENTS: list[PublicationEvent] = [
    received("B1", None, 0, 0),
    sent("B1", "B2", 1, 10),
    received("B2", "B1", 5, 1),
    sent("B1", "B2", 9, 20),
    received("B2", "B1", 12, 1),
    sent("B2", "B3", 6, 100),
    received("B3", "B2", 15, 2),
    Notified(0, "P:1", 20, "S", "B3", 2, 0),
]


def test_a_copy_is_the_one_that_was_sent_last_before_it_came() -> None:
    for seed in range(20):
        shuffled = random.Random(seed).sample(EVENTS, len(EVENTS))
        journey = Journey.of(shuffled)
        paths = journey.paths()
        assert [(path.broker, path.time, path.waited) for path in paths] == [
            ("B1", 0, 0),
            ("B2", 5, 10),
            ("B2", 12, 20),
            ("B3", 15, 110),
        ]
        path = path_of(journey.notified[0], paths)
        assert path is not None
        assert path.brokers == ("B1", "B2", "B3")


def test_a_path_that_the_log_does_not_hold_is_unknown() -> None:
    journey = Journey.of([event for event in EVENTS if not (isinstance(event, Sent) and event.broker == "B2")])
    assert path_of(journey.notified[0], journey.paths()) is None
    assert journey.reached == ("B1", "B2", "B2", "B3")


def test_a_wait_that_was_not_logged_leaves_the_path() -> None:
    journey = Journey.of([received("B1", None, 0, 0), sent("B1", "B2", 1, None), received("B2", "B1", 5, 1)])
    assert [(path.brokers, path.waited) for path in journey.paths()] == [(("B1",), 0), (("B1", "B2"), None)]
