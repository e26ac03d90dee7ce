"""The frames of a session's stream: events first, acknowledgements behind them and in time."""

from __future__ import annotations

from broker_service.core.session import FRAMES_AT_ONCE, Session
from broker_service.messages import ACKNOWLEDGE_WITHIN, ACKNOWLEDGED_AT_ONCE, BrokerFrame, ClientEvent, Outcome
from record.time_units import SECOND

LARGEST = 1 << 20
LATE = round(ACKNOWLEDGE_WITHIN * SECOND)


def handled(number: int, now: int = 0) -> Session:
    """A session that has handled publications up to this number by now."""
    session = Session(100, LARGEST)
    session.handled = number
    session.plan_acknowledgement(now)
    return session


def rejection(number: int) -> ClientEvent:
    return ClientEvent(Outcome.REJECTED, ("P",), number)


def test_a_few_publications_are_acknowledged_late() -> None:
    session = handled(3, now=5)
    assert session.wake_at == 5 + LATE
    session.plan_acknowledgement(100)
    assert session.wake_at == 5 + LATE
    session.wake(4 + LATE)
    assert not session.next_frames(64, LARGEST)
    session.handled = 4
    session.wake(5 + LATE)
    assert session.next_frames(64, LARGEST) == [BrokerFrame(acknowledged=4)]
    session.plan_acknowledgement(6 + LATE)
    assert not session.next_frames(64, LARGEST)


def test_many_publications_are_acknowledged_at_once() -> None:
    assert not handled(ACKNOWLEDGED_AT_ONCE - 1).next_frames(64, LARGEST)
    session = handled(ACKNOWLEDGED_AT_ONCE)
    assert session.wake_at is None
    assert session.next_frames(64, LARGEST) == [BrokerFrame(acknowledged=ACKNOWLEDGED_AT_ONCE)]


def test_an_acknowledgement_comes_behind_all_events_that_wait() -> None:
    session = handled(ACKNOWLEDGED_AT_ONCE)
    events = [rejection(number) for number in range(FRAMES_AT_ONCE + 1)]
    for event in events:
        session.put(event)
    asked = list[None]()
    session.on_waiting = lambda: asked.append(None)
    assert session.next_frames(1, LARGEST) == [BrokerFrame([event]) for event in events[:-1]]
    assert len(asked) == 1
    assert session.next_frames(1, LARGEST) == [BrokerFrame(events[-1:]), BrokerFrame(acknowledged=ACKNOWLEDGED_AT_ONCE)]


def test_an_acknowledgement_asks_for_a_frame() -> None:
    session, asked = handled(1), list[None]()
    session.on_waiting = lambda: asked.append(None)
    session.wake(LATE)
    assert len(asked) == 1
