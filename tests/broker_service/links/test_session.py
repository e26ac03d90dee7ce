"""Link sessions: each rule alone, and two of them against each other over a wire on which anything can happen."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from broker_service.config import Limits
from broker_service.links.frames import Hello, LinkFrame, MessageFrame, Probe
from broker_service.links.greeting import Greeting, RefusedError
from broker_service.links.session import (
    ACKNOWLEDGE_AFTER,
    FRAME_INTERVAL,
    MISSED_HEARTBEATS,
    LinkSession,
    LinkViolationError,
    SilentNeighbourError,
)
from broker_service.links.states import TRANSITIONS, Input, State, StateError
from broker_service.messages import Kind, Message
from record.time_units import SECOND
from tests.broker_service.links.two_ends import LIMITS, Broker, Identity, TwoEnds

CHOICES = st.lists(st.integers(0, 10**6), max_size=150)
WITHOUT_RESUMPTION = replace(LIMITS, resume=False)
SEEDS = range(300)


@pytest.mark.parametrize("limits", [LIMITS, WITHOUT_RESUMPTION])
@given(choices=CHOICES)
def test_every_message_is_handled_once_and_in_order_whatever_happens_to_the_wire(
    limits: Limits, choices: list[int]
) -> None:
    TwoEnds(limits=limits).run(choices)


# Sessions that are wrong on purpose, each of which the property above finds


def claiming(frame: LinkFrame, more: int) -> LinkFrame:
    """A frame, if it is a hello with the claim to have handled so many messages more."""
    return replace(frame, handled=max(0, frame.handled + more)) if isinstance(frame, Hello) else frame


class ClaimsOneLess(LinkSession):
    """Claims on resumption to have handled one message less than it did: that one is handled twice."""

    def next_frames(self, now: int) -> Sequence[LinkFrame]:
        return [claiming(frame, -1) for frame in super().next_frames(now)]


class ClaimsWhatWaits(LinkSession):
    """Claims on resumption to have handled what only came in: that is lost."""

    waits = 0

    def received(self, stream: int, frame: LinkFrame, now: int, arrived: int | None = None) -> Sequence[Message]:
        messages = super().received(stream, frame, now)
        self.waits = self.unhandled
        return messages

    def next_frames(self, now: int) -> Sequence[LinkFrame]:
        return [claiming(frame, self.waits) for frame in super().next_frames(now)]


class HandlesEndedStreams(LinkSession):
    """Handles messages that waited for service when their stream ended; they come again on the next one."""

    def handle(self, stream: int, messages: Sequence[Message], now: int) -> bool:
        return super().handle(self.stream, messages, now)


class ReadsEndedStreams(LinkSession):
    """Takes frames of a stream that is no longer the present one."""

    def received(self, stream: int, frame: LinkFrame, now: int, arrived: int | None = None) -> Sequence[Message]:
        return super().received(self.stream, frame, now)


class AcknowledgesWhatWaits(LinkSession):
    """Acknowledges messages before they are handled."""

    def next_frames(self, now: int) -> Sequence[LinkFrame]:
        return [
            MessageFrame(frame.messages, frame.acknowledged + self.unhandled)
            if isinstance(frame, MessageFrame)
            else frame
            for frame in super().next_frames(now)
        ]


class TrustingGreeting(Greeting):
    __slots__ = ()

    def handled(self, hello: Hello) -> int:
        return hello.handled


class TrustsFormerIncarnations(LinkSession):
    """Takes what was handled of a former incarnation of this end for its own."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._hellos.__class__ = TrustingGreeting


class ForgetfulGreeting(Greeting):
    __slots__ = ()

    def check(self, hello: Hello) -> None:
        super().check(replace(hello, appearance=self._link.appearance))


class KeepsFormerAppearances(LinkSession):
    """Takes a hello of another appearance of the link for one of its own."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._hellos.__class__ = ForgetfulGreeting


class NeverAcknowledges(LinkSession):
    """Sends no frame for an acknowledgement alone: the window of a link with one-way traffic stays full."""

    def handle(self, stream: int, messages: Sequence[Message], now: int) -> bool:
        super().handle(stream, messages, now)
        self.frame_due = False
        self._acknowledge_at = self.wake_at = None
        return False


@pytest.mark.parametrize(
    "wrong",
    [
        ClaimsOneLess,
        ClaimsWhatWaits,
        HandlesEndedStreams,
        KeepsFormerAppearances,
        ReadsEndedStreams,
        AcknowledgesWhatWaits,
        TrustsFormerIncarnations,
        NeverAcknowledges,
    ],
)
def test_a_wrong_session_is_found(wrong: type[LinkSession]) -> None:
    with pytest.raises((AssertionError, LinkViolationError, RefusedError, ValueError)):
        for seed in SEEDS:
            source = random.Random(seed)
            TwoEnds(wrong).run(source.randrange(10**6) for _ in range(150))


@pytest.mark.parametrize("limits", [LIMITS, WITHOUT_RESUMPTION])
def test_random_schedules_find_nothing_wrong_with_the_real_session(limits: Limits) -> None:
    for seed in SEEDS:
        source = random.Random(seed)
        TwoEnds(limits=limits).run(source.randrange(10**6) for _ in range(150))


# Each rule alone


class Trial:
    """One end, to which the test plays the neighbour B."""

    def __init__(
        self,
        heartbeat: float | None = None,
        limits: Limits | None = None,
        first_beat: float = 1.0,
        latest: int | None = None,
    ) -> None:
        self.now = 0
        self.handled: dict[tuple[Identity, Identity], list[int]] = {((1, 1), (1, 1)): []}
        limits = limits or Limits(window=8)
        self.broker = Broker("A", (1, 1), "B", lambda: self.now, self.handled, limits)
        self.session = LinkSession(
            self.broker, self.broker.link, "tid", limits, heartbeat, first_beat=first_beat, latest=latest
        )

    def open(self) -> int:
        """A stream that B opened."""
        stream = self.session.accept(hello(), self.now)
        self.session.next_frames(self.now)
        return stream

    def come(self, stream: int, count: int, acknowledged: int = 0) -> Sequence[Message]:
        """Messages of B come in."""
        numbers = range(first := len(self.handled[(1, 1), (1, 1)]), first + count)
        messages = [Message(Kind.PUBLISH, f"1:1:{number}") for number in numbers]
        return self.session.received(stream, MessageFrame(messages, acknowledged), self.now)


def hello(broker: str = "B", known: int = 0, handled: int = 0, **others: Any) -> Hello:
    return Hello(
        **{"incarnation": 1, "protocol": "tid", **others}, broker=broker, neighbour_incarnation=known, handled=handled
    )


def test_the_dialling_end_is_up_once_it_is_answered() -> None:
    trial = Trial()
    stream = trial.session.dial(0)
    assert list(trial.session.next_frames(0)) == [hello("A")]
    assert trial.session.next_frames(0) == ()
    assert (trial.session.state, trial.broker.link.up) == (State.DIALLING, False)
    trial.session.received(stream, hello(), 0)
    assert (trial.session.state, trial.broker.link.up) == (State.OPEN, True)


def test_the_accepting_end_is_up_once_its_hello_is_taken() -> None:
    trial = Trial()
    trial.session.accept(hello(), 0)
    assert not trial.broker.link.up
    assert list(trial.session.next_frames(0)) == [hello("A")]
    assert trial.broker.link.up


def test_of_many_streams_that_were_not_answered_only_the_latest_comes_up() -> None:
    trial = Trial()
    streams = [trial.session.accept(hello(), 0) for _ in range(40)]
    trial.session.next_frames(0)
    assert trial.session.stream == streams[-1]
    trial.session.closed(streams[0])
    assert trial.broker.link.up


@pytest.mark.parametrize(
    ("greeting", "reason"),
    [
        (hello("C"), "C is at its other end"),
        (hello(protocol="x"), "routes by 'x'"),
        (hello(appearance=2), "its end is of appearance 2, this end of 1"),
        (hello(incarnation=1), "its incarnation 1 has ended, 2 came after it"),
        (hello(incarnation=2, known=1, handled=2), "to have handled 2 messages, 1 were sent"),
        (hello(incarnation=2, known=1, handled=0), "to have handled 0 messages, it acknowledged 1"),
        (hello(incarnation=3, known=1, handled=1), "to have handled 1 messages, 0 were sent"),
    ],
)
def test_a_hello_that_cannot_be_is_refused_and_changes_nothing(greeting: Hello, reason: str) -> None:
    trial = Trial()
    stream = trial.session.accept(hello(incarnation=2), 0)
    trial.session.next_frames(0)
    trial.broker.put_one()
    trial.session.next_frames(0)
    trial.session.received(stream, MessageFrame((), 1), 0)
    with pytest.raises(RefusedError, match=reason):
        trial.session.accept(greeting, 0)
    assert (trial.session.stream, trial.broker.link.up) == (stream, True)


def test_a_hello_of_an_incarnation_that_nobody_planned_is_refused() -> None:
    """It would keep the neighbour itself away, whose own incarnation would count as ended."""
    trial = Trial(latest=2)
    with pytest.raises(RefusedError, match="incarnation 3, but 2 is the last one planned"):
        trial.session.accept(hello(incarnation=3), 0)
    trial.session.accept(hello(incarnation=2), 0)
    trial.session.next_frames(0)
    assert trial.broker.link.up


def test_frames_out_of_place_are_violations() -> None:
    trial = Trial()
    stream = trial.session.dial(0)
    with pytest.raises(LinkViolationError, match="no hello"):
        trial.session.received(stream, MessageFrame(), 0)
    trial.session.closed(stream)
    stream = trial.open()
    with pytest.raises(LinkViolationError, match="amid"):
        trial.session.received(stream, hello(), 0)
    with pytest.raises(LinkViolationError, match="acknowledged 7 messages, 0 were sent"):
        trial.session.received(stream, MessageFrame((), 7), 0)


def test_an_acknowledgement_travels_alone_for_a_quarter_of_the_window_or_after_a_while() -> None:
    trial = Trial()
    stream = trial.open()
    trial.session.handle(stream, trial.come(stream, 1), 5)
    assert (trial.session.frame_due, trial.session.wake_at) == (False, 5 + round(ACKNOWLEDGE_AFTER * SECOND))
    trial.session.handle(stream, trial.come(stream, 1), 6)
    assert trial.session.frame_due
    assert list(trial.session.next_frames(6)) == [MessageFrame([], 2)]
    trial.session.wake(5 + round(ACKNOWLEDGE_AFTER * SECOND))
    assert not trial.session.frame_due, "nothing is left to acknowledge"
    trial.session.handle(stream, trial.come(stream, 1), SECOND)
    trial.session.wake(2 * SECOND)
    assert list(trial.session.next_frames(2 * SECOND)) == [MessageFrame([], 3)]


def test_messages_that_wait_for_service_are_counted() -> None:
    trial = Trial()
    stream = trial.open()
    first, second = trial.come(stream, 3), trial.come(stream, 2)
    assert trial.session.unhandled == 5
    trial.session.handle(stream, first, 0)
    assert trial.session.unhandled == 2
    trial.open()
    trial.session.handle(stream, second, 0)
    assert (trial.session.unhandled, len(trial.handled[(1, 1), (1, 1)])) == (0, 3)


def test_messages_that_wait_may_travel_once_others_are_acknowledged() -> None:
    trial = Trial(limits=Limits(window=2))
    stream = trial.open()
    for number in range(3):
        trial.broker.link.put(Message(Kind.PUBLISH, f"P:{number}"))
    (frame,) = trial.session.next_frames(SECOND)
    assert isinstance(frame, MessageFrame)
    assert len(frame.messages) == 2
    unblocked = []
    for acknowledged in (0, 1, 1, 2):
        trial.come(stream, 1, acknowledged)
        unblocked.append(trial.session.unblocked)
        trial.session.next_frames(2 * SECOND)
    assert unblocked == [False, True, False, False]


def test_messages_that_wait_may_travel_once_a_hello_is_answered() -> None:
    for waiting in (False, True):
        trial = Trial()
        if waiting:
            trial.broker.link.put(Message(Kind.PUBLISH, "P"))
        stream = trial.session.dial(0)
        trial.session.next_frames(0)
        trial.session.received(stream, hello(), 0)
        assert trial.session.unblocked == waiting


def test_writes_are_paced() -> None:
    trial = Trial(limits=Limits(window=1000, batch=1000))
    trial.open()
    frames = 0
    for _ in range(100):
        trial.broker.put_one()
        frames += len(trial.session.next_frames(0))
    assert 1 < frames < 30
    assert 0 < trial.session.write_at <= FRAME_INTERVAL * SECOND
    (frame,) = trial.session.next_frames(trial.session.write_at)
    assert isinstance(frame, MessageFrame)
    assert len(frame.messages) == 100 - frames


@given(st.lists(st.floats(0.0, 0.9), min_size=1, max_size=30))
def test_a_neighbour_that_beats_is_never_silent(delays: list[float]) -> None:
    """Its beats arrive up to nine tenths of an interval late."""
    trial = Trial(heartbeat=1.0)
    stream = trial.open()
    arrivals = [round((number + 1 + delay) * SECOND) for number, delay in enumerate(delays)]
    for arrival in arrivals:
        _wake_until(trial, arrival)
        trial.session.received(stream, MessageFrame(), arrival)
    assert trial.broker.link.up


@given(st.integers(0, 10 * SECOND))
def test_a_neighbour_that_failed_is_found_within_three_beats(last: int) -> None:
    """And not before two have passed since its last frame."""
    trial = Trial(heartbeat=1.0)
    stream = trial.open()
    for time in (*range(SECOND // 2, last, SECOND), last):
        _wake_until(trial, time)
        trial.session.received(stream, MessageFrame(), time)
    with pytest.raises(SilentNeighbourError, match="3 heartbeats were missed"):
        _wake_until(trial, last + 20 * SECOND)
    assert (MISSED_HEARTBEATS - 1) * SECOND <= trial.now - last <= MISSED_HEARTBEATS * SECOND


def _wake_until(trial: Trial, time: int) -> None:
    while (at := trial.session.wake_at) is not None and at <= time:
        trial.now = at
        trial.session.wake(at)
        if trial.session.frame_due:
            assert [type(frame) for frame in trial.session.next_frames(at)] == [MessageFrame]
    trial.now = time


def test_every_beat_sends_a_frame() -> None:
    trial = Trial(heartbeat=1.0)
    trial.open()
    assert trial.session.wake_at == SECOND
    trial.session.wake(SECOND)
    assert list(trial.session.next_frames(SECOND)) == [MessageFrame([], 0, Probe(SECOND))]
    assert trial.session.wake_at == 2 * SECOND


def test_the_round_trip_is_the_shortest_of_hello_and_beats() -> None:
    trial = Trial(heartbeat=1.0)
    stream = trial.session.dial(0)
    trial.session.next_frames(10)
    trial.session.received(stream, hello(), 510)
    assert trial.broker.link.round_trip == 500 / SECOND
    assert list(trial.session.next_frames(600)) == [MessageFrame([], 0, Probe(600))], "the first beat follows at once"
    trial.session.received(stream, MessageFrame([], 0, Probe(77, echo=700)), 1100)
    assert trial.broker.link.round_trip == 400 / SECOND
    trial.session.wake(2 * SECOND)
    assert list(trial.session.next_frames(1200)) == [MessageFrame([], 0, Probe(1200, echo=77 + 100))]
    for echo in (1300, 2900):
        trial.session.received(stream, MessageFrame([], 0, Probe(99, echo)), 2800)
    assert trial.broker.link.round_trip == 400 / SECOND, "a longer one counts no more than one from the future"


def test_the_accepting_end_takes_the_first_beat_for_the_echo_of_its_hello() -> None:
    trial = Trial()
    stream = trial.session.accept(hello(), 0)
    trial.session.next_frames(100)
    trial.session.received(stream, MessageFrame(), 200)
    assert trial.broker.link.round_trip is None
    trial.session.received(stream, MessageFrame([], 0, Probe(5)), 300)
    assert trial.broker.link.round_trip == 200 / SECOND


def test_a_hello_that_is_not_answered_is_given_up() -> None:
    trial = Trial(heartbeat=1.0)
    stream = trial.session.dial(0)
    trial.session.next_frames(0)
    assert trial.session.wake_at == MISSED_HEARTBEATS * SECOND
    with pytest.raises(SilentNeighbourError, match="does not answer"):
        trial.session.wake(MISSED_HEARTBEATS * SECOND)
    trial.session.closed(stream)
    assert (trial.session.state, trial.session.wake_at) == (State.CLOSED, None)


def test_the_first_heartbeat_comes_after_its_share_and_the_others_one_after_another() -> None:
    trial = Trial(heartbeat=1.0, first_beat=0.25)
    trial.open()
    assert trial.session.wake_at == SECOND // 4
    trial.session.wake(SECOND // 4)
    assert trial.session.wake_at == SECOND + SECOND // 4


def test_the_back_off_grows_until_a_stream_is_open() -> None:
    trial = Trial(limits=Limits(reconnect_first=0.1, reconnect_last=0.3))
    assert [trial.session.redial_after() for _ in range(4)] == [0.1, 0.2, 0.3, 0.3]
    stream = trial.session.dial(0)
    trial.session.received(stream, hello(), 0)
    trial.session.closed(stream)
    assert trial.session.redial_after() == 0.1


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("input", Input)
def test_the_table_of_states_says_what_a_session_does(state: State, input: Input) -> None:
    trial = Trial()
    session = trial.session
    {
        State.CLOSED: lambda: None,
        State.DIALLING: lambda: session.dial(0),
        State.ANSWERING: lambda: session.accept(hello(), 0),
        State.OPEN: trial.open,
    }[state]()
    assert session.state is state
    inputs = {
        Input.DIAL: lambda: session.dial(0),
        Input.ACCEPT: lambda: session.accept(hello(), 0),
        Input.GREETED: lambda: session.received(session.stream, hello(), 0),
        Input.ANSWERED: lambda: session.next_frames(0),
        Input.END: lambda: session.closed(session.stream),
        Input.REST: session.rest,
    }
    following = TRANSITIONS[state].get(input)
    try:
        inputs[input]()
    except (StateError, LinkViolationError):
        assert following is None
    assert session.state is (following or state)
