"""The output queue of an overlay link: window, acknowledgements, reconnection, bounds and the link status table."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_service.config import Limits
from broker_service.links.overlay_link import OverlayLink
from broker_service.messages import Kind, Message
from broker_service.tracing.trace import Recorder
from record.log import Event
from record.time_units import SECOND
from tests.broker_service.overlay import ListTrace


class Clock:
    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def trace() -> ListTrace:
    return ListTrace("B1")


def link(clock: Clock, trace: ListTrace, **limits: float) -> OverlayLink:
    made = OverlayLink("B2", Limits(**limits), clock, Recorder(trace, clock))  # type: ignore[arg-type]
    made.connect(1, 0)
    return made


def messages(count: int, first: int = 0) -> list[Message]:
    return [Message(Kind.PUBLISH, f"P:{number}") for number in range(first, first + count)]


def ids(taken: list[Message]) -> list[str]:
    return [message.id for message in taken]


def test_no_more_than_the_window_is_in_flight(clock: Clock, trace: ListTrace) -> None:
    out = link(clock, trace, window=4, batch=3)
    for message in messages(10):
        out.put(message)
    assert [len(out.take()) for _ in range(3)] == [3, 1, 0]
    assert (len(out.retransmission.in_flight), out.queue_length) == (4, 6)
    out.retransmission.acknowledge(3)
    assert ids(out.take()) == ["P:4", "P:5", "P:6"]


def test_what_the_neighbour_has_handled_does_not_travel_again(clock: Clock, trace: ListTrace) -> None:
    out = link(clock, trace)
    for message in messages(5):
        out.put(message)
    out.take()
    out.retransmission.acknowledge(2)
    out.disconnect()
    out.put(Message(Kind.PUBLISH, "P:5"))
    assert out.take() == []
    out.connect(1, 4)
    assert ids(out.take()) == ["P:4", "P:5"]
    out.retransmission.acknowledge(6)
    assert len(out.retransmission.in_flight) == 0
    assert len(trace.of(Event.SENT)) == 6, "a repeat is not logged again"
    assert (out.sent, out.sent_bytes) == (6, sum(record.bytes or 0 for record in trace.of(Event.SENT)))


def test_a_stream_that_breaks_twice_keeps_the_order(clock: Clock, trace: ListTrace) -> None:
    out = link(clock, trace, batch=2)
    for message in messages(6):
        out.put(message)
    out.take()
    out.take()
    out.disconnect()
    out.connect(1, 0)
    assert ids(out.take()) == ["P:0", "P:1"]
    out.disconnect()
    out.connect(1, 1)
    assert [*ids(out.take()), *ids(out.take()), *ids(out.take())] == ["P:1", "P:2", "P:3", "P:4", "P:5"]


def test_a_restarted_neighbour_gets_nothing_meant_for_its_former_self(clock: Clock, trace: ListTrace) -> None:
    out = link(clock, trace, batch=2)
    for message in messages(4):
        out.put(message)
    out.take()
    out.disconnect()
    out.connect(2, 0)
    assert out.take() == []
    assert out.dropped == 4
    assert [record.text for record in trace.of(Event.DROPPED)] == ["neighbour restarted"] * 4
    out.put(Message(Kind.PUBLISH, "P:9"))
    assert ids(out.take()) == ["P:9"]
    out.retransmission.acknowledge(1)


def sized(bytes: int, kind: Kind = Kind.PUBLISH) -> Message:
    return Message(kind, "m", bytes // 2 * b"b", (bytes - bytes // 2) * b"h")


def test_large_messages_fill_the_window_and_one_of_any_size_travels(clock: Clock, trace: ListTrace) -> None:
    out = link(clock, trace, window_bytes=100)
    for size in (60, 40, 1, 500, 1):
        out.put(sized(size))
    taken = []
    for acknowledged in (0, 1, 2, 3, 4, 5):
        out.retransmission.acknowledge(acknowledged)
        promised, travelling = out.sendable, out.take()
        assert bool(promised) is bool(travelling)
        taken.append([message.size for message in travelling])
    assert taken == [[60, 40], [1], [], [500], [1], []]


def test_large_messages_that_travel_again_keep_to_the_window(clock: Clock, trace: ListTrace) -> None:
    out = link(clock, trace, window_bytes=100)
    for size in (60, 40, 90):
        out.put(sized(size))
    assert len(out.take()) == 2
    out.disconnect()
    out.connect(1, 1)
    assert [message.size for message in out.take()] == [40]
    assert (out.sendable, out.take()) == (0, [])
    out.retransmission.acknowledge(2)
    assert [message.size for message in out.take()] == [90]


def test_a_queue_is_full_at_so_many_bytes_of_its_like(clock: Clock, trace: ListTrace) -> None:
    out = link(clock, trace, queue_bytes=100, window=2)
    for kind in (Kind.PUBLISH, Kind.SUBSCRIBE):
        for size in (60, 41, 40, 1):
            out.put(sized(size, kind))
    dropped = [(record.kind, record.bytes, record.text) for record in trace.of(Event.DROPPED)]
    assert dropped == [
        ("publish", 41, "output queue full"),
        ("publish", 1, "output queue full"),
        ("subscribe", 41, "output queue full of control messages"),
        ("subscribe", 1, "output queue full of control messages"),
    ]
    out.take()
    out.put(sized(100))
    out.retransmission.acknowledge(2)
    out.take()
    out.put(sized(100, Kind.SUBSCRIBE))
    assert (out.dropped, out.queue_length) == (4, 2)


@given(st.lists(st.tuples(st.sampled_from(["publish", "subscribe", "take", "break", "restart"]), st.integers(0, 40))))
def test_what_is_counted_is_what_is_there(events: list[tuple[str, int]]) -> None:
    """An empty queue is as roomy as a new one, whatever went through it before."""
    clock = Clock()
    out = link(clock, ListTrace("B1"), window_bytes=50, queue_bytes=100, window=5, batch=3)
    incarnation, acknowledged = 1, 0
    for event, size in events:
        if event == "take":
            out.take()
            acknowledged += min(size % 3, len(out.retransmission.in_flight))
            out.retransmission.acknowledge(acknowledged)
        elif event in ("break", "restart"):
            out.disconnect()
            if event == "restart":
                incarnation, acknowledged = incarnation + 1, 0
            out.connect(incarnation, acknowledged)
        else:
            out.put(sized(size, Kind[event.upper()]))
    while out.queue_length or len(out.retransmission.in_flight):
        out.take()
        acknowledged += len(out.retransmission.in_flight)
        out.retransmission.acknowledge(acknowledged)
    dropped = out.dropped
    for kind in (Kind.PUBLISH, Kind.SUBSCRIBE):
        out.put(sized(100, kind))
    assert (out.queue_length, out.dropped) == (2, dropped)


@pytest.mark.parametrize(("incarnation", "handled"), [(1, 4), (1, 2**64 - 1), (2, 1)])
def test_a_neighbour_that_handled_what_was_never_sent_is_refused(
    clock: Clock, trace: ListTrace, incarnation: int, handled: int
) -> None:
    out = link(clock, trace, batch=3)
    for message in messages(4):
        out.put(message)
    out.take()
    out.disconnect()
    with pytest.raises(ValueError, match="were sent"):
        out.connect(incarnation, handled)
    assert not out.up
    out.connect(1, 3)
    assert ids(out.take()) == ["P:3"]


def test_what_waited_for_the_first_contact_is_kept(clock: Clock, trace: ListTrace) -> None:
    out = OverlayLink("B2", Limits(), clock, Recorder(trace, clock))
    out.put(Message(Kind.PUBLISH, "P:0"))
    assert out.take() == []
    out.connect(3, 0)
    assert ids(out.take()) == ["P:0"]


def test_a_full_queue_drops_and_counts(clock: Clock, trace: ListTrace) -> None:
    out = link(clock, trace, link_queue=3)
    for message in messages(5):
        out.put(message)
    assert (out.queue_length, out.dropped) == (3, 2)
    assert [record.id for record in trace.of(Event.DROPPED)] == ["P:3", "P:4"]


def test_publications_do_not_crowd_out_what_is_said_only_once(clock: Clock, trace: ListTrace) -> None:
    out = link(clock, trace, link_queue=2, control_queue=3, window=4)
    for number in range(5):
        out.put(Message(Kind.PUBLISH, f"P:{number}"))
        out.put(Message(Kind.UNSUBSCRIBE, f"S:{number}"))
    assert [record.id for record in trace.of(Event.DROPPED)] == ["P:2", "P:3", "S:3", "P:4", "S:4"]
    assert ids(out.take()) == ["P:0", "S:0", "P:1", "S:1"], "both kinds keep their order"
    for number in (5, 6, 7):
        out.put(Message(Kind.UNSUBSCRIBE, f"S:{number}"))
    assert [record.id for record in trace.of(Event.DROPPED)][5:] == ["S:7"], "what was taken has left room"
    out.connect(2, 0)
    for number in (8, 9, 10, 11):
        out.put(Message(Kind.SUBSCRIBE, f"S:{number}"))
    assert trace.of(Event.DROPPED)[-1].id == "S:11", "a new incarnation begins with an empty queue"


@pytest.mark.parametrize("total", [3, -1])
def test_an_impossible_acknowledgement_is_an_error(clock: Clock, trace: ListTrace, total: int) -> None:
    out = link(clock, trace)
    for message in messages(2):
        out.put(message)
    out.take()
    with pytest.raises(ValueError, match="acknowledged"):
        out.retransmission.acknowledge(total)


def test_utilisation_is_rate_in_over_rate_out(clock: Clock, trace: ListTrace) -> None:
    out = link(clock, trace, window=1000, batch=10, utilisation_window=1.0)
    assert out.utilisation == 1.0
    for _ in range(16):
        for message in messages(20):
            out.put(message)
        clock.now += SECOND // 16
        out.take()
    assert out.queue_length == 160
    assert out.utilisation == pytest.approx(1 + 160 / 160, rel=0.1)
    for _ in range(64):
        clock.now += SECOND // 16
        out.take()
    assert out.utilisation == 1.0
    out.disconnect()
    assert out.utilisation == float("inf")


def test_waits_in_the_queue_add_up(clock: Clock, trace: ListTrace) -> None:
    """A message that travels again has left the queue long before."""
    out = link(clock, trace, window=3)
    for number, message in enumerate(messages(5)):
        clock.now = 10 * number
        out.put(message)
    clock.now = 100
    assert (out.sent, out.waited) == (0, 0)
    out.take()
    assert (out.sent, out.waited) == (3, 100 + 90 + 80)
    out.disconnect()
    clock.now = 1000
    out.connect(1, 0)
    out.take()
    out.retransmission.acknowledge(3)
    out.take()
    assert (out.sent, out.waited) == (5, 270 + 970 + 960)


def test_the_wait_in_the_queue_is_logged(clock: Clock, trace: ListTrace) -> None:
    out = link(clock, trace)
    out.put(Message(Kind.PUBLISH, "P:0", b"body", b"header"))
    clock.now += 5000
    out.take()
    (record,) = trace.of(Event.SENT)
    assert (record.duration, record.bytes, record.queue, record.peer) == (5000, 10, 0, "B2")


# Messages ahead of others


@given(st.lists(st.sampled_from(["put", "put_ahead", "take"]), max_size=60))
def test_messages_ahead_travel_before_all_others_and_in_order_among_themselves(steps: list[str]) -> None:
    out = link(clock := Clock(), ListTrace("B1"), batch=2, window=1000)
    ahead: list[str] = []
    others: list[str] = []
    taken, expected = [], []
    for number, step in enumerate(steps):
        clock.now += 1
        if step == "take":
            taken += ids(out.take())
            for _ in range(2):
                if ahead or others:
                    expected.append((ahead or others).pop(0))
            continue
        getattr(out, step)(Message(Kind.CONTROL, str(number)))
        (others if step == "put" else ahead).append(str(number))
    assert taken == expected
    assert out.queue_length == len(ahead) + len(others)


def test_a_message_ahead_finds_no_more_room_than_another(clock: Clock, trace: ListTrace) -> None:
    out = link(clock, trace, control_queue=2)
    for number in range(3):
        out.put_ahead(Message(Kind.CONTROL, str(number)))
    out.put(Message(Kind.PUBLISH, "P:1"))
    assert ids(out.take()) == ["0", "1", "P:1"]
    assert [record.text for record in trace.of(Event.DROPPED)] == ["output queue full of control messages"]


# Recall


def test_on_a_link_that_is_up_what_waits_is_taken_back(clock: Clock, trace: ListTrace) -> None:
    out = link(clock, trace, window=2)
    for message in messages(5):
        out.put(message)
    out.take()
    assert ids(out.recall()) == ["P:2", "P:3", "P:4"]
    assert (out.queue_length, len(out.retransmission.in_flight)) == (0, 2)
    out.retransmission.acknowledge(2)
    out.put(Message(Kind.PUBLISH, "P:5"))
    assert ids(out.take()) == ["P:5"]
    assert [record.id for record in trace.of(Event.RECALLED)] == ["P:2", "P:3", "P:4"]


@pytest.mark.parametrize("handled", range(1, 4))
def test_what_was_in_flight_when_it_was_taken_back_may_have_been_handled(
    clock: Clock, trace: ListTrace, handled: int
) -> None:
    out = link(clock, trace, window=3)
    for message in messages(5):
        out.put(message)
    out.take()
    out.retransmission.acknowledge(1)
    out.disconnect()
    assert ids(out.recall()) == ["P:1", "P:2", "P:3", "P:4"]
    out.put(Message(Kind.PUBLISH, "P:5"))
    with pytest.raises(ValueError, match="claims to have handled 4 messages, 3 were sent"):
        out.retransmission_to(1).check(4)
    out.connect(1, handled)
    assert ids(out.take()) == ["P:5"]
    with pytest.raises(ValueError, match="acknowledged"):
        out.retransmission.acknowledge(handled + 2)
    out.retransmission.acknowledge(handled + 1)
    assert (out.queue_length, len(out.retransmission.in_flight)) == (0, 0)


def test_room_that_was_taken_back_is_free_again(clock: Clock, trace: ListTrace) -> None:
    out = link(clock, trace, link_queue=2, control_queue=1)
    out.put_ahead(Message(Kind.CONTROL, "c"))
    for message in messages(2):
        out.put(message)
    assert ids(out.recall()) == ["c", "P:0", "P:1"]
    for message in messages(2):
        out.put(message)
    out.put_ahead(Message(Kind.CONTROL, "d"))
    assert ids(out.take()) == ["d", "P:0", "P:1"]
    assert out.dropped == 0


# Links that do not resume


def test_without_resumption_a_broken_stream_loses_what_waited_and_was_not_handled(
    clock: Clock, trace: ListTrace
) -> None:
    out = link(clock, trace, window=3, resume=False)
    for message in messages(5):
        out.put(message)
    out.take()
    out.retransmission.acknowledge(1)
    out.disconnect()
    assert [record.id for record in trace.of(Event.DROPPED)] == ["P:3", "P:4"]
    assert out.recall() == []
    out.put(Message(Kind.PUBLISH, "P:5"))
    out.connect(1, 2)
    assert [(record.id, record.text) for record in trace.of(Event.DROPPED)] == [
        ("P:3", "stream broke"),
        ("P:4", "stream broke"),
        ("P:2", "stream broke"),
    ]
    assert ids(out.take()) == ["P:5"]
    out.retransmission.acknowledge(3)
    assert len(out.retransmission.in_flight) == 0
