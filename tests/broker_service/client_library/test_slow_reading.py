"""Reading at a rate, without a connection."""

from __future__ import annotations

from broker_service.client_library.slow_reading import SlowReading
from broker_service.messages import BrokerFrame, ClientEvent, Outcome


def notified(id: str) -> ClientEvent:
    return ClientEvent(Outcome.NOTIFIED, ("S",), id=id)


def ids(frames: list[BrokerFrame]) -> list[str]:
    return [event.id for frame in frames for event in frame.events]


def test_notifications_are_read_one_after_another() -> None:
    reading = SlowReading(4)
    reading.take(BrokerFrame((notified("a"), notified("b")), acknowledged=7), 10.0)
    assert reading.next_at == 10.25
    assert not list(reading.due(10.2))
    assert ids(list(reading.due(10.25))) == ["a"]
    rest = list(reading.due(11.0))
    assert ids(rest) == ["b"]
    assert rest[-1].acknowledged == 7
    assert reading.next_at is None


def test_a_frame_is_read_behind_those_before_it() -> None:
    reading = SlowReading(1)
    reading.take(BrokerFrame((notified("a"),)), 0.0)
    reading.take(BrokerFrame((notified("b"),)), 0.5)
    assert ids(list(reading.due(1.9))) == ["a"]
    assert reading.next_at == 2.0
    list(reading.due(2.0))
    reading.take(BrokerFrame((notified("c"),)), 10.0)
    assert reading.next_at == 11.0


def test_answers_take_no_time_of_their_own_and_overtake_nothing() -> None:
    reading = SlowReading(1)
    reading.take(BrokerFrame((ClientEvent(Outcome.CONFIRMED, ("S",), 1),)), 3.0)
    assert len(list(reading.due(3.0))) == 1
    reading.take(BrokerFrame((notified("a"), ClientEvent(Outcome.CONFIRMED, ("S",), 2))), 3.0)
    assert reading.next_at == 4.0
