"""The frames of a session's stream: events first, acknowledgements behind them and in time."""

from __future__ import annotations

from broker_service.core.session import FRAMES_AT_ONCE, Session
from broker_service.messages import ACKNOWLEDGE_WITHIN, ACKNOWLEDGED_AT_ONCE, BrokerFrame, ClientEvent, Outcome
from record.time_units import SECOND
from record.unread import UnreadPolicy

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


def notification(id: str, size: int = 1) -> ClientEvent:
    return ClientEvent(Outcome.NOTIFIED, ("S",), id=id, body=b"x" * size)


def filled(policy: UnreadPolicy, most_bytes: int = LARGEST) -> Session:
    """A session with room for two notifications, which it has, and an answer before them."""
    session = Session(2, most_bytes, policy)
    for event in (rejection(1), notification("a"), notification("b")):
        assert not session.put(event)
    return session


def left(session: Session) -> list[str]:
    return [event.id for event in session.take(9) if event.outcome is Outcome.NOTIFIED]


def test_the_newest_is_dropped() -> None:
    session = filled(UnreadPolicy.DROP_NEWEST)
    assert [event.id for event in session.put(notification("c"))] == ["c"]
    assert (left(session), session.dropped) == (["a", "b"], 1)


def test_the_oldest_is_dropped_and_no_answer() -> None:
    session = filled(UnreadPolicy.DROP_OLDEST)
    assert [event.id for event in session.put(notification("c"))] == ["a"]
    assert session.waiting == 3
    assert (left(session), session.dropped) == (["b", "c"], 1)


def test_as_many_of_the_oldest_are_dropped_as_the_bytes_need() -> None:
    session = filled(UnreadPolicy.DROP_OLDEST, most_bytes=10)
    assert [event.id for event in session.put(notification("c", 10))] == ["a", "b"]
    assert [event.id for event in session.put(notification("d", 11))] == ["d"]
    assert left(session) == ["c"]


def test_the_session_is_ended() -> None:
    session, ended = filled(UnreadPolicy.END_SESSION), list[None]()
    session.on_unread = lambda: ended.append(None)
    assert [event.id for event in session.put(notification("c"))] == ["c"]
    assert len(ended) == 1


def test_a_client_is_told_of_what_was_dropped_before_it_reads_what_comes_later() -> None:
    session = filled(UnreadPolicy.DROP_NEWEST)
    session.put(notification("c"))
    session.put(notification("d"))
    (frame,) = session.next_frames(64, LARGEST)
    first, *_ = frame.events
    assert (first.outcome, first.number) == (Outcome.LOST, 2)
    session.put(notification("e"))
    assert [[event.outcome for event in frame.events] for frame in session.next_frames(64, LARGEST)] == [
        [Outcome.NOTIFIED]
    ]


def numbers(session: Session) -> list[tuple[str, int]]:
    return [(event.id, event.number) for frame in session.next_frames(64, LARGEST) for event in frame.events]


def test_notifications_are_numbered_as_they_are_sent_where_the_client_wants_that() -> None:
    plain, numbered = Session(2, LARGEST, UnreadPolicy.DROP_OLDEST), Session(2, LARGEST, UnreadPolicy.DROP_OLDEST)
    numbered.numbered = True
    for session in (plain, numbered):
        for publication in ("a", "b", "c"):
            session.put(notification(publication))
        session.put(rejection(7))
    assert numbers(plain) == [("", 1), ("b", 0), ("c", 0), ("", 7)]
    assert numbers(numbered) == [("", 1), ("b", 1), ("c", 2), ("", 7)]
    further = Session(2, LARGEST)
    further.numbered, further.progress = True, numbered.progress
    further.put(notification("d"))
    assert numbers(further) == [("d", 3)]
