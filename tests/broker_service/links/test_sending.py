"""Sending that takes time: against a naive server of a queue, within a session, and when streams break."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate, combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from broker_service.config import BrokerConfig, Limits
from broker_service.core.gauges import recorded
from broker_service.links.frames import Hello, MessageFrame, Probe
from broker_service.links.greeting import RefusedError
from broker_service.links.overlay_link import OverlayLink
from broker_service.links.sending import LATEST, Sending, Turns
from broker_service.links.session import ACKNOWLEDGE_AFTER, LinkSession, LinkViolationError
from broker_service.links.states import Input
from broker_service.messages import Kind, Message
from broker_service.tracing.trace import Recorder
from record.log import Event
from record.service_time import Distribution, ServiceTime
from record.time_units import SECOND
from tests.broker_service.links.two_ends import LIMITS, MILLISECOND, TwoEnds, WrongError
from tests.broker_service.overlay import ListTrace

GAPS = st.lists(st.integers(0, 20), min_size=1, max_size=40)
"""Times between messages."""
TIMES = st.lists(st.integers(0, 20), min_size=40, max_size=40)
LATE = round(LATEST * SECOND)


class Direction:
    """A link whose messages are sent one after the other, called exactly when the session asks for it."""

    def __init__(self, send_times: Callable[[], int] | None, limits: Limits | None = None) -> None:
        self.now = 0
        self.written: list[tuple[str, int]] = []
        """Messages with the times at which they were written."""
        self.trace = ListTrace("A")

        def clock() -> int:
            return self.now

        limits = limits or Limits(window=1000)
        self.link = OverlayLink("B", limits, clock, Recorder(self.trace, clock), send_times=send_times)
        self.session = LinkSession(Neighbourless(self.link), self.link, "tid", limits, heartbeat=1.0)
        self.session.accept(Hello(broker="B", incarnation=1, protocol="tid", neighbour_incarnation=0, handled=0), 0)
        self.write()

    def write(self) -> Sequence[MessageFrame]:
        frames = [frame for frame in self.session.next_frames(self.now) if isinstance(frame, MessageFrame)]
        self.written += [(message.id, self.now) for frame in frames for message in frame.messages]
        assert recorded(self.link)[0] == len(self.trace.of(Event.SENT)), "sums of gauges are those of records"
        return frames

    def pass_until(self, time: int) -> None:
        """Writes whatever has been sent by then, each message at its time."""
        while (at := self.session.sent_at) is not None and at <= time:
            self.now = at
            self.write()
        self.now = time

    def put(self, id: str, kind: Kind = Kind.PUBLISH) -> None:
        self.link.put(Message(kind, id))
        self.write()


class Neighbourless:
    """A broker of which only the link counts."""

    id = "A"
    incarnation = 1

    def __init__(self, link: OverlayLink) -> None:
        self.link = link

    def link_up(self, neighbour: str, incarnation: int, handled: int) -> None:
        self.link.connect(incarnation, handled)

    def link_down(self, neighbour: str) -> None:
        self.link.disconnect()

    def receive(self, neighbour: str, messages: Sequence[Message], arrived: int | None) -> None:
        self.link.received += len(messages)


def naive_ends(arrivals: Sequence[int], times: Sequence[int]) -> list[int]:
    """Ends of service at a single server: each begins when its customer has come and the one before has left."""
    ends: list[int] = []
    for arrival, time in zip(arrivals, times, strict=False):
        ends.append(max(arrival, ends[-1] if ends else 0) + time)
    return ends


@given(gaps=GAPS, times=TIMES)
def test_messages_leave_like_customers_of_one_server(gaps: list[int], times: list[int]) -> None:
    arrivals = list(accumulate(gaps))
    direction = Direction(iter(times).__next__)
    for number, arrival in enumerate(arrivals):
        direction.pass_until(arrival)
        direction.put(f"P:{number}")
    direction.pass_until(10_000)
    ends = naive_ends(arrivals, times)
    assert direction.written == [(f"P:{number}", end) for number, end in enumerate(ends)]
    waits = [end - time - arrival for end, time, arrival in zip(ends, times, arrivals, strict=False)]
    assert [record.duration for record in direction.trace.of(Event.SENT)] == waits, (
        "the wait ends as the sending begins"
    )


@given(gaps=GAPS, times=TIMES, late=st.lists(st.integers(0, LATE), min_size=200, max_size=200))
def test_late_calls_delay_no_message_but_the_one_that_they_write(
    gaps: list[int], times: list[int], late: list[int]
) -> None:
    arrivals = list(accumulate(gaps))
    queue = LateQueue()
    sending = Sending(queue, iter(times).__next__, Turns())
    written: list[str] = []
    ends = naive_ends(arrivals, times)
    lateness = iter(late)
    now = 0
    while len(written) < len(arrivals):
        now = (now + 1 if sending.ends_at is None else max(now, sending.ends_at)) + next(lateness, 0) % 5
        queue.add([(at, f"P:{number}") for number, at in enumerate(arrivals) if queue.added <= number and at <= now])
        sent = sending.advance(now)
        written += [message.id for message in sent]
        assert all(ends[number] <= now for number in range(len(written))), "none leaves before its time"
    assert written == [f"P:{number}" for number in range(len(arrivals))]


@given(
    arrivals=st.lists(st.tuples(st.integers(0, 20), st.integers(0, 2)), min_size=1, max_size=40),
    took=st.integers(1, 10),
)
def test_links_that_share_turns_send_as_one_server_does(arrivals: list[tuple[int, int]], took: int) -> None:
    """Messages of a link keep their order; of equally long ones it does not matter to the server which is next."""
    entered = list(accumulate(gap for gap, _ in arrivals))
    turns, queues = Turns(), [LateQueue() for _ in range(3)]
    sendings = [Sending(queue, lambda: took, turns) for queue in queues]
    written: list[tuple[int, int, str]] = []
    for now in range(entered[-1] + took * len(arrivals) + 1):
        for number, (_, link) in enumerate(arrivals):
            if entered[number] == now:
                queues[link].add([(now, f"P:{number}")])
                written += [(now, link, sent.id) for sent in sendings[link].advance(now)]
        written += [(now, link, sent.id) for link in range(3) for sent in sendings[link].advance(now)]
    assert [now for now, _, _ in written] == naive_ends(entered, [took] * len(arrivals))
    for link in range(3):
        own = [f"P:{number}" for number, (_, to) in enumerate(arrivals) if to == link]
        assert [id for _, to, id in written if to == link] == own


def test_a_message_waits_for_one_of_each_other_link_at_most() -> None:
    turns, queues = Turns(), [LateQueue() for _ in range(3)]
    sendings = [Sending(queue, lambda: 10, turns) for queue in queues]
    queues[0].add([(0, f"A:{number}") for number in range(5)])
    queues[1].add([(0, f"B:{number}") for number in range(5)])
    for sending in sendings:
        sending.advance(0)
    queues[2].add([(1, "C:0")])
    written = [sent.id for now in range(1, 41) for sending in sendings for sent in sending.advance(now)]
    assert written == ["A:0", "B:0", "C:0", "A:1"]


def test_a_message_leaves_the_queue_when_its_turn_begins() -> None:
    turns, queues = Turns(), [LateQueue() for _ in range(2)]
    first, second = (Sending(queue, lambda: 10, turns) for queue in queues)
    queues[0].add([(0, "A:0")])
    queues[1].add([(0, "B:0")])
    assert (first.advance(0), first.due_at) == ([], 10)
    assert (second.advance(0), second.due_at, queues[1].sendable) == ([], 10, True)
    assert (second.advance(10), second.due_at, queues[1].sendable) == ([], 20, False)


def test_a_turn_is_given_back_when_the_stream_ends_and_no_other_link_has_one_behind_it() -> None:
    turns, queues = Turns(), [LateQueue() for _ in range(2)]
    first, second = (Sending(queue, lambda: 10, turns) for queue in queues)
    queues[0].add([(0, "A:0")])
    queues[1].add([(0, "B:0")])
    first.advance(0)
    second.advance(0)
    first.abandon()
    assert turns.free_at == 20, "the other link keeps its turn"
    second.abandon()
    assert (turns.free_at, second.due_at) == (10, None)


class LateQueue:
    """An output queue without a window, which knows when its messages entered it."""

    def __init__(self) -> None:
        self.added = 0
        self._waiting: list[tuple[int, str]] = []

    def add(self, messages: list[tuple[int, str]]) -> None:
        self.added += len(messages)
        self._waiting += messages

    @property
    def sendable(self) -> bool:
        return bool(self._waiting)

    @property
    def waiting_since(self) -> int:
        return self._waiting[0][0] if self._waiting else 0

    def take(self, most: int | None = None) -> list[Message]:
        assert most == 1
        return [Message(Kind.PUBLISH, self._waiting.pop(0)[1])] if self._waiting else []


def test_a_late_call_makes_up_for_what_it_missed() -> None:
    direction = Direction(lambda: 5 * MILLISECOND)
    for number in range(10):
        direction.put(f"P:{number}")
    direction.now = 16 * MILLISECOND
    direction.write()
    assert [id for id, _ in direction.written] == ["P:0", "P:1", "P:2"]
    assert direction.session.sent_at == 20 * MILLISECOND


def test_a_broker_that_was_frozen_has_sent_nothing_meanwhile() -> None:
    direction = Direction(lambda: 5 * MILLISECOND)
    for number in range(10):
        direction.put(f"P:{number}")
    direction.now = 10 * SECOND
    direction.write()
    assert len(direction.written) == 1 + LATE // (5 * MILLISECOND)


def test_messages_of_all_kinds_take_their_time_and_wait_in_the_queue() -> None:
    direction = Direction(lambda: 5)
    for kind in (Kind.ADVERTISE, Kind.SUBSCRIBE, Kind.PUBLISH, Kind.CONTROL):
        direction.put(kind.name, kind)
    assert (direction.link.queue_length, len(direction.link.retransmission.in_flight)) == (3, 1)
    direction.pass_until(100)
    assert [time for _, time in direction.written] == [5, 10, 15, 20]


def test_the_link_status_table_sees_what_waits_and_not_what_is_being_sent() -> None:
    direction = Direction(lambda: 4 * MILLISECOND)
    link = direction.link
    link.flow(0.01)
    direction.put("P:0")
    assert (link.queue_length, link.utilisation) == (0, 1.0)
    for number in range(1, 5):
        direction.put(f"P:{number}")
    assert link.queue_length == 4
    direction.pass_until(12 * MILLISECOND)
    assert link.flow(0.01) == (5, 3), "the third began at 8 ms"
    assert link.utilisation == 1 + 1 / 3


def test_the_window_holds_up_the_next_sending() -> None:
    direction = Direction(lambda: 5, Limits(window=2))
    for number in range(4):
        direction.put(f"P:{number}")
    direction.pass_until(100)
    assert direction.written == [("P:0", 5), ("P:1", 10)]
    assert direction.session.sent_at is None
    direction.session.received(direction.session.stream, MessageFrame((), 1), direction.now)
    direction.write()
    direction.pass_until(200)
    assert direction.written[2:] == [("P:2", 105)]


def test_acknowledgements_and_heartbeats_do_not_wait_for_a_sending() -> None:
    direction = Direction(lambda: 3 * SECOND)
    direction.put("P:0")
    session = direction.session
    session.handle(
        session.stream, session.received(session.stream, MessageFrame([Message(Kind.PUBLISH, "Q:0")], 0), 0), 0
    )
    direction.now = round(ACKNOWLEDGE_AFTER * SECOND)
    session.wake(direction.now)
    assert list(direction.write()) == [MessageFrame([], 1)]
    direction.now = SECOND
    session.wake(direction.now)
    assert list(direction.write()) == [MessageFrame([], 1, Probe(SECOND))]
    direction.pass_until(3 * SECOND)
    assert direction.written == [("P:0", 3 * SECOND)]


def test_a_message_whose_sending_was_cut_short_travels_again_and_takes_its_time_again() -> None:
    direction = Direction(lambda: 10)
    direction.put("P:0")
    direction.put("P:1")
    direction.pass_until(14)
    session = direction.session
    session.closed(session.stream)
    assert session.sent_at is None
    direction.now = 20
    session.accept(Hello(broker="B", incarnation=1, protocol="tid", neighbour_incarnation=1, handled=1), 20)
    direction.write()
    direction.write()
    direction.pass_until(100)
    assert direction.written == [("P:0", 10), ("P:1", 30)]


# Other send times


@given(gaps=GAPS, changes=st.dictionaries(st.integers(0, 40), st.integers(0, 20)))
def test_another_send_time_applies_from_the_next_message_on(gaps: list[int], changes: dict[int, int]) -> None:
    """The naive server begins with a customer at the pace of that moment; `changes` are by the next customer."""
    arrivals = list(accumulate(gaps))
    direction = Direction(lambda: 7)
    for number, arrival in enumerate(arrivals):
        direction.pass_until(arrival)
        if number in changes:
            direction.link.change_send_times(partial(int, changes[number]))
        direction.put(f"P:{number}")
    direction.pass_until(10_000)
    ends = [0]
    for number, arrival in enumerate(arrivals):
        begin = max(arrival, ends[-1])
        made = [(at, next) for next, at in enumerate(arrivals) if next in changes and (at, next) <= (begin, number)]
        ends.append(begin + (changes[made[-1][1]] if made else 7))
    assert direction.written == [(f"P:{number}", end) for number, end in enumerate(ends[1:])]


def test_a_link_whose_sending_takes_no_time_any_more_is_like_one_that_never_had_a_send_time() -> None:
    direction = Direction(None, Limits(window=1000, batch=2))
    direction.link.change_send_times(lambda: 10)
    for number in range(3):
        direction.put(f"P:{number}")
    direction.pass_until(4)
    direction.link.change_send_times(None)
    assert direction.session.sent_at == 10, "the message that is being sent leaves at its time"
    direction.pass_until(50)
    assert direction.written == [("P:0", 10), ("P:1", 10), ("P:2", 10)]
    assert (direction.link.sending, direction.session.sent_at) == (None, None)


# With streams that break


CHOICES = st.lists(st.integers(0, 10**6), max_size=150)
WITHOUT_RESUMPTION = replace(LIMITS, resume=False)


def send_times() -> int:
    return 5 * MILLISECOND


@pytest.mark.parametrize("limits", [LIMITS, WITHOUT_RESUMPTION])
@given(choices=CHOICES)
def test_every_message_is_handled_once_and_in_order_whatever_happens_to_the_wire(
    limits: Limits, choices: list[int]
) -> None:
    TwoEnds(limits=limits, send_times=send_times).run(choices)


class FinishesOnTheNextStream(LinkSession):
    """Writes a message on the next stream whose sending began on the one before: that one travels twice."""

    def _change(self, input: Input) -> None:
        sending = self.link.sending
        assert sending is not None
        ends_at, message, turn = sending.ends_at, sending._message, sending._turn
        super()._change(input)
        sending.ends_at, sending._message, sending._turn = ends_at, message, turn


def test_a_session_that_finishes_a_sending_on_the_next_stream_is_found() -> None:
    with pytest.raises((WrongError, LinkViolationError, RefusedError, ValueError)):
        for seed in range(300):
            source = random.Random(seed)
            TwoEnds(FinishesOnTheNextStream, send_times=send_times).run(source.randrange(10**6) for _ in range(150))


# Draws


def test_each_direction_draws_from_a_stream_of_its_own_which_the_seed_fixes() -> None:
    exponential = ServiceTime(mean=0.005, distribution=Distribution.EXPONENTIAL)

    def draws(
        broker: str = "B1", neighbour: str = "B2", seed: int = 1, incarnation: int = 1, appearance: int = 1
    ) -> list[int]:
        config = BrokerConfig(id=broker, incarnation=incarnation, protocol="tid", seed=seed)
        draw = config.send_times(neighbour, appearance, exponential)
        assert draw is not None
        return [draw() for _ in range(20)]

    assert draws() == draws()
    streams = [draws(), draws("B2", "B1"), draws("B1", "B3"), draws(seed=2), draws(incarnation=2), draws(appearance=2)]
    assert all(a != b for a, b in combinations(streams, 2))


def test_a_link_without_a_send_time_draws_nothing() -> None:
    config = BrokerConfig(id="B1", incarnation=1, protocol="tid")
    assert config.send_times("B2", 1, ServiceTime()) is None
