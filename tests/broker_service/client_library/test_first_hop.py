"""The first hop: every publication of a client reaches the router once, wherever its session breaks."""

from __future__ import annotations

from collections import Counter, deque

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from broker_service.client_library.client_requests import ClientRequests, SessionLimits
from broker_service.config import BrokerConfig
from broker_service.core.broker import Broker
from broker_service.core.progress import REASON_FORGOTTEN, REASONS_KEPT, REPEATABLE
from broker_service.core.session import Session
from broker_service.language.content import encode_predicates, encode_publication
from broker_service.messages import (
    ACKNOWLEDGED_AT_ONCE,
    MOST_IN_DOUBT,
    BrokerFrame,
    ClientEvent,
    ClientRequest,
    Operation,
    Outcome,
    Welcome,
)
from record.time_units import SECOND
from tests.broker_service.loopback import QUOTES, STOCKS, quote
from tests.broker_service.manual_timers import ManualTimers
from tests.broker_service.overlay import ListTrace

GOOD, BAD = encode_publication(quote(1.0)), encode_publication(quote(-1.0))
"""Contents, of which the second does not conform to the publisher's advertisement."""


class Stream:
    """A stream between the client and the broker, with the frames that are on their way."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.to_broker: deque[list[ClientRequest]] = deque()
        self.to_client: deque[BrokerFrame] = deque()


class FirstHop:
    """A publishing client whose streams break, and a subscriber at the same broker who notes what is routed."""

    def __init__(self, batch: int = 2) -> None:
        self.incarnation = 0
        self.events: list[ClientEvent] = []
        self.routed: list[str] = []
        self.acknowledged: list[str] = []
        self.requests = ClientRequests("B1", self.events.append, SessionLimits(batch=batch), self.note_acknowledged)
        self.published = 0
        self.broken: list[Stream] = []
        """Streams that the client has left and the broker has not: what was sent on them may still come."""
        self.start_broker()
        self.requests.submit("P", Operation.ATTACH)
        self.requests.submit("P", Operation.ADVERTISE, "a", encode_predicates(QUOTES.predicates))

    def start_broker(self) -> None:
        self.incarnation += 1
        config = BrokerConfig(id="B1", incarnation=self.incarnation, protocol="tid")
        self.broker = Broker(config, lambda: 0, ListTrace("B1"), ManualTimers().schedule)
        self.subscriber = self.broker.sessions.open()
        self.broker.sessions.handle(
            self.subscriber,
            [
                ClientRequest("S", 1, Operation.ATTACH),
                ClientRequest("S", 2, Operation.SUBSCRIBE, "s", encode_predicates(STOCKS.predicates)),
            ],
        )
        self.broken.clear()
        self.connect()

    def connect(self) -> None:
        self.stream = Stream(self.broker.sessions.open())
        self.broker.sessions.name(self.stream.session, "session")
        self.requests.begin(self.broker.welcome)

    def publish(self, body: bytes) -> None:
        self.published += 1
        self.requests.submit("P", Operation.PUBLISH, f"p{self.published}{'' if body == GOOD else ' bad'}", body)

    def send(self) -> None:
        if requests := self.requests.take():
            self.stream.to_broker.append(requests)

    def handle(self, stream: Stream) -> None:
        if stream.to_broker:
            self.broker.sessions.handle(stream.session, stream.to_broker.popleft())
            stream.session.wake(SECOND)
            stream.to_client += stream.session.next_frames(10_000, 1 << 20)

    def read(self) -> None:
        if self.stream.to_client:
            self.requests.receive(self.stream.to_client.popleft())

    def cut(self) -> None:
        self.broken.append(self.stream)
        self.connect()

    def do(self, action: str) -> None:
        match action:
            case "publish":
                self.publish(GOOD)
            case "publish bad":
                self.publish(BAD)
            case "send":
                self.send()
            case "handle":
                self.handle(self.stream)
            case "read":
                self.read()
            case "cut":
                self.cut()
            case "handle late" if self.broken:
                self.handle(self.broken[0])
            case "notice" if self.broken:
                self.broker.sessions.close(self.broken.pop(0).session)
        self.note_routed()

    def note_acknowledged(self, publication: ClientRequest) -> None:
        assert publication.id in self.routed
        self.acknowledged.append(publication.id)

    def note_routed(self) -> None:
        self.routed += [event.id for event in self.subscriber.take(1_000) if event.outcome is Outcome.NOTIFIED]

    def finish(self) -> None:
        """Everything that waits travels."""
        for _ in range(1_000):
            for action in ("send", "handle", "read"):
                self.do(action)
        assert not self.requests.waiting


ACTIONS = st.lists(
    st.sampled_from(["publish", "publish bad", "send", "handle", "read", "cut", "handle late", "notice"]),
    min_size=20,
    max_size=80,
)


REJECTION_LOST_TWICE = [
    *("publish bad", "send", "handle", "send", "handle", "cut"),
    *("send", "handle", "read", "cut"),
]
"""The rejection is lost with the first stream. The second one handles the declarations alone, before it breaks."""


@example(REJECTION_LOST_TWICE)
@given(ACTIONS)
@settings(max_examples=300, deadline=None)
def test_each_publication_is_routed_once_and_in_order_wherever_its_session_breaks(actions: list[str]) -> None:
    hop = FirstHop()
    for action in actions:
        hop.do(action)
    hop.finish()
    sent = [f"p{number}" for number in range(1, hop.published + 1)]
    rejected = Counter(event.id for event in hop.events if event.outcome is Outcome.REJECTED)
    assert hop.routed == [id for id in sent if f"{id} bad" not in rejected]
    assert set(rejected.values()) <= {1}
    assert not set(hop.routed) & set(rejected)
    assert hop.broker.sessions.published == len(hop.routed)
    assert hop.acknowledged == hop.routed


def test_a_bad_publication_is_rejected_once_though_it_is_repeated() -> None:
    hop = FirstHop()
    for action in ("publish bad", "send", "handle", "send", "handle", "cut"):
        hop.do(action)
    assert not hop.events, "the answers are lost with the stream"
    hop.finish()
    assert [event.id for event in hop.events if event.outcome is Outcome.REJECTED] == ["p1 bad"]
    assert hop.broker.sessions.rejected == 1
    assert hop.acknowledged == []


def test_rejections_of_which_the_reasons_are_forgotten_are_still_rejections() -> None:
    hop = FirstHop(batch=2 * REASONS_KEPT + 10)
    sent = [GOOD, *[BAD] * (REASONS_KEPT + 5), GOOD, *[BAD] * 5]
    for body in sent:
        hop.publish(body)
    for action in ("send", "handle", "cut"):
        hop.do(action)
    assert not hop.events, "the answers are lost with the stream"
    hop.finish()
    rejected = [event for event in hop.events if event.outcome is Outcome.REJECTED]
    assert [event.id for event in rejected] == [f"p{n} bad" for n, body in enumerate(sent, 1) if body == BAD]
    assert [event.reason == REASON_FORGOTTEN for event in rejected] == [True] * 10 + [False] * REASONS_KEPT
    assert hop.acknowledged == hop.routed == ["p1", f"p{REASONS_KEPT + 7}"]


@pytest.mark.parametrize(("recognises", "routed"), [(False, ["p2"]), (True, ["p1", "p2"])])
def test_a_new_incarnation_gets_repeats_only_where_it_recognises_them(
    recognises: bool, routed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("broker_service.routing.tid.TidOptions.recognises_repeats", recognises)
    hop = FirstHop()
    for action in ("send", "handle", "publish", "send"):
        hop.do(action)
    hop.publish(GOOD)
    hop.start_broker()
    hop.finish()
    assert hop.routed == hop.acknowledged == routed


def test_the_client_waits_for_acknowledgements_when_it_keeps_many() -> None:
    hop = FirstHop()
    hop.requests = ClientRequests("B1", hop.events.append, SessionLimits(batch=2, unacknowledged=3))
    hop.connect()
    for _ in range(6):
        hop.publish(GOOD)
    for _ in range(6):
        hop.send()
    assert [len(frame) for frame in hop.stream.to_broker] == [2, 2]
    hop.requests.acknowledge(2)
    hop.send()
    assert len(hop.stream.to_broker) == 3


def test_no_more_is_in_doubt_than_a_router_that_recognises_repeats_recognises() -> None:
    requests = ClientRequests("B1", [].append, SessionLimits(batch=100))
    requests.begin(Welcome(1, recognises_repeats=True))
    for number in range(2 * MOST_IN_DOUBT):
        requests.submit("P", Operation.PUBLISH, f"p{number}")
    assert sum(len(requests.take()) for _ in range(6)) == MOST_IN_DOUBT
    requests.acknowledge(ACKNOWLEDGED_AT_ONCE)
    assert sum(len(requests.take()) for _ in range(6)) == ACKNOWLEDGED_AT_ONCE


def test_the_client_keeps_no_more_than_the_broker_recognises() -> None:
    SessionLimits(batch=128, unacknowledged=REPEATABLE - 128)
    with pytest.raises(ValueError, match="unacknowledged: with batch at most 262,144, not 262,017"):
        SessionLimits(batch=128, unacknowledged=REPEATABLE - 127)


def test_the_client_waits_though_other_operations_lie_between_its_publications() -> None:
    """The broker counts all of a session's numbers, so the client does, too."""
    hop = FirstHop()
    hop.requests = ClientRequests("B1", hop.events.append, SessionLimits(batch=1, unacknowledged=3))
    hop.connect()
    hop.publish(GOOD)
    for number in range(4):
        hop.requests.submit("P", Operation.UNSUBSCRIBE, f"s{number}")
    hop.publish(GOOD)
    for _ in range(6):
        hop.send()
    assert [frame[0].number for frame in hop.stream.to_broker] == [1, 2, 3]
    hop.requests.acknowledge(1)
    for _ in range(6):
        hop.send()
    assert [frame[0].number for frame in hop.stream.to_broker] == [1, 2, 3, 4, 5, 6]
