"""The broker core: operations of clients, the events they get, and the counters."""

from __future__ import annotations

from itertools import count

import pytest

from broker_service.config import BrokerConfig, Limits, LinkConfig
from broker_service.core.broker import Broker
from broker_service.core.session import DECLARED_OVERHEAD, Session
from broker_service.language import Operator, Predicate, Publication
from broker_service.language.content import encode_predicates, encode_publication
from broker_service.messages import MOST_HOPS, ClientEvent, ClientRequest, Kind, Message, Operation, Outcome
from broker_service.routing.common.decoding import encode_header
from broker_service.routing.tid.messages import UnsubscribeHeader
from record.log import Event
from tests.broker_service.manual_timers import ManualTimers
from tests.broker_service.overlay import ListTrace

STOCK = Predicate("class", Operator.STRING_EQUAL, "STOCK")
ADVERTISED = encode_predicates((STOCK, Predicate("price", Operator.GREATER, 10)))
WANTED = encode_predicates((STOCK, Predicate("price", Operator.GREATER, 50)))


def quote(price: float) -> bytes:
    return encode_publication(Publication({"class": "STOCK", "price": price}))


class OneBroker:
    """A broker, its log, and one session."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.trace = ListTrace("B1")
        link = LinkConfig(neighbour="B2", local="", remote="", dial=True)
        config = BrokerConfig(id="B1", incarnation=1, protocol="tid", links=(link,), limits=limits or Limits())
        self.broker = Broker(config, lambda: 0, self.trace, ManualTimers().schedule)
        self.session = self.broker.sessions.open()

    def do(
        self, client: str, operation: Operation, id: str = "", body: bytes = b"", session: Session | None = None
    ) -> list[ClientEvent]:
        session = session or self.session
        self.broker.sessions.handle(session, [ClientRequest(client, 7, operation, id, body)])
        return session.take(100)


@pytest.fixture
def one() -> OneBroker:
    made = OneBroker()
    made.do("P", Operation.ATTACH)
    made.do("S", Operation.ATTACH)
    return made


def outcomes(events: list[ClientEvent]) -> list[Outcome]:
    return [event.outcome for event in events]


def test_operations_are_confirmed_and_publications_are_not(one: OneBroker) -> None:
    (event,) = one.do("P", Operation.ADVERTISE, "a1", ADVERTISED)
    assert (event.outcome, event.clients, event.number, event.id) == (Outcome.CONFIRMED, ("P",), 7, "a1")
    assert one.do("P", Operation.PUBLISH, "P:1", quote(20)) == []


def test_a_publication_outside_its_own_clients_advertisements_is_rejected_and_counted(one: OneBroker) -> None:
    one.do("P", Operation.ADVERTISE, "a1", ADVERTISED)
    one.do("S", Operation.SUBSCRIBE, "s1", encode_predicates((STOCK,)))
    for client, price in (("P", 5), ("S", 20)):
        (event,) = one.do(client, Operation.PUBLISH, f"{client}:1", quote(price))
        assert event.outcome is Outcome.REJECTED
        assert "conforms to no advertisement" in event.reason
    assert (one.broker.sessions.rejected, one.broker.sessions.published) == (2, 0)
    assert len(one.trace.of(Event.REJECTED)) == 2


def test_a_publisher_that_subscribes_gets_its_own(one: OneBroker) -> None:
    one.do("P", Operation.ADVERTISE, "a1", ADVERTISED)
    one.do("P", Operation.SUBSCRIBE, "s1", WANTED)
    (event,) = one.do("P", Operation.PUBLISH, "P:1", quote(60))
    assert (event.outcome, event.clients, event.id, event.body) == (Outcome.NOTIFIED, ("P",), "P:1", quote(60))


def test_clients_of_one_session_share_an_event_and_each_is_counted(one: OneBroker) -> None:
    one.do("P", Operation.ADVERTISE, "a1", ADVERTISED)
    one.do("P", Operation.SUBSCRIBE, "s1", WANTED)
    one.do("S", Operation.SUBSCRIBE, "s1", WANTED)
    one.do("S", Operation.SUBSCRIBE, "s2", encode_predicates((STOCK,)))
    (event,) = one.do("P", Operation.PUBLISH, "P:1", quote(60))
    assert sorted(event.clients) == ["P", "S"]
    assert one.broker.delivered == 2
    assert sorted(record.client or "" for record in one.trace.of(Event.DELIVERED)) == ["P", "S"]


def test_said_twice_is_said_once_and_new_content_replaces_the_old(one: OneBroker) -> None:
    one.do("P", Operation.ADVERTISE, "a1", ADVERTISED)
    for body in (WANTED, WANTED, encode_predicates((STOCK, Predicate("price", Operator.GREATER, 90)))):
        assert outcomes(one.do("S", Operation.SUBSCRIBE, "s1", body)) == [Outcome.CONFIRMED]
    assert one.do("P", Operation.PUBLISH, "P:1", quote(60)) == []
    assert outcomes(one.do("P", Operation.PUBLISH, "P:2", quote(95))) == [Outcome.NOTIFIED]


def test_a_replacement_that_cannot_be_read_leaves_the_old_one(one: OneBroker) -> None:
    one.do("P", Operation.ADVERTISE, "a1", ADVERTISED)
    one.do("S", Operation.SUBSCRIBE, "s1", WANTED)
    assert outcomes(one.do("S", Operation.SUBSCRIBE, "s1", b"\xff garbage")) == [Outcome.REJECTED]
    assert outcomes(one.do("P", Operation.PUBLISH, "P:1", quote(60))) == [Outcome.NOTIFIED]


@pytest.mark.parametrize(
    ("operation", "reason"),
    [
        (Operation.UNSUBSCRIBE, "no subscription 'x'"),
        (Operation.UNADVERTISE, "no advertisement 'x'"),
        (Operation.PUBLISH, ""),
    ],
)
def test_what_cannot_be_done_is_rejected_with_a_reason(one: OneBroker, operation: Operation, reason: str) -> None:
    (event,) = one.do("S", operation, "x", b"\xff garbage")
    assert event.outcome is Outcome.REJECTED
    assert reason in event.reason
    assert event.reason


def test_a_client_must_attach_first_and_a_moved_client_starts_afresh(one: OneBroker) -> None:
    elsewhere = one.broker.sessions.open()
    (event,) = one.do("S", Operation.SUBSCRIBE, "s1", WANTED, elsewhere)
    assert "not attached" in event.reason
    one.do("P", Operation.ADVERTISE, "a1", ADVERTISED)
    one.do("S", Operation.SUBSCRIBE, "s1", WANTED)
    assert outcomes(one.do("S", Operation.ATTACH, session=elsewhere)) == [Outcome.CONFIRMED]
    assert one.do("P", Operation.PUBLISH, "P:1", quote(60)) == []
    one.do("S", Operation.SUBSCRIBE, "s1", WANTED, elsewhere)
    one.do("P", Operation.PUBLISH, "P:2", quote(60))
    assert [event.id for event in elsewhere.take(9)] == ["P:2"]


def test_a_closed_session_takes_its_clients_along(one: OneBroker) -> None:
    one.do("P", Operation.ADVERTISE, "a1", ADVERTISED)
    one.do("S", Operation.SUBSCRIBE, "s1", WANTED)
    one.broker.sessions.close(one.session)
    assert one.broker.clients == 0
    assert one.broker.tables() == {"subscription_routing_table": {}, "publication_routing_table": {}}


def test_requests_that_waited_until_their_session_had_ended_leave_nothing_behind(one: OneBroker) -> None:
    one.broker.sessions.close(one.session)
    assert one.do("C", Operation.ATTACH) == one.do("C", Operation.SUBSCRIBE, "c1", WANTED) == []
    assert one.broker.clients == 0


def test_a_session_that_does_not_read_loses_events_and_they_are_counted() -> None:
    one = OneBroker(Limits(session_queue=3))
    for operation, id, body in (
        (Operation.ATTACH, "", b""),
        (Operation.ADVERTISE, "a1", ADVERTISED),
        (Operation.SUBSCRIBE, "s1", WANTED),
    ):
        one.do("P", operation, id, body)
    requests = [ClientRequest("P", 0, Operation.PUBLISH, f"P:{n}", quote(60)) for n in range(10)]
    one.broker.sessions.handle(one.session, requests)
    assert (one.session.waiting, one.session.dropped) == (3, 7)
    assert len(one.trace.of(Event.DROPPED)) == 7


def test_a_flooded_session_is_still_told_what_became_of_its_operations() -> None:
    one = OneBroker(Limits(session_queue=3))
    one.do("P", Operation.ATTACH)
    one.do("P", Operation.ADVERTISE, "a1", ADVERTISED)
    one.do("P", Operation.SUBSCRIBE, "s1", WANTED)
    flood = [ClientRequest("P", 0, Operation.PUBLISH, f"P:{n}", quote(60)) for n in range(10)]
    asked = [ClientRequest("P", number, Operation.UNSUBSCRIBE, "s1") for number in range(1, 6)]
    one.broker.sessions.handle(one.session, [*flood, *asked])
    told = one.session.take(100)
    assert outcomes(told) == [Outcome.NOTIFIED] * 3 + [Outcome.CONFIRMED] + [Outcome.REJECTED] * 2
    assert one.session.dropped == 9
    one.broker.sessions.handle(one.session, asked)
    assert len(one.session.take(100)) == 3


def test_a_session_that_does_not_read_keeps_so_many_bytes_at_most() -> None:
    large = encode_publication(Publication({"class": "STOCK", "price": 60, "text": "x" * 1000}))
    one = OneBroker(Limits(queue_bytes=2500))
    one.do("P", Operation.ATTACH)
    one.do(
        "P",
        Operation.ADVERTISE,
        "a1",
        encode_predicates(
            (STOCK, *(Predicate(name, Operator.PRESENT, value) for name, value in (("price", 0), ("text", ""))))
        ),
    )
    one.do("P", Operation.SUBSCRIBE, "s1", WANTED)
    for number in range(4):
        one.broker.sessions.handle(one.session, [ClientRequest("P", 0, Operation.PUBLISH, f"P:{number}", large)])
    assert (one.session.waiting, one.session.dropped) == (2, 2)
    assert [event.id for event in one.session.take(9, most_bytes=1)] == ["P:0"]
    assert [event.id for event in one.session.take(9)] == ["P:1"]
    assert outcomes(one.do("P", Operation.PUBLISH, "P:9", large)) == [Outcome.NOTIFIED]


def test_clients_beyond_the_limit_are_refused_until_others_leave() -> None:
    one = OneBroker(Limits(clients=2))
    for client in ("A", "B", "A"):
        assert outcomes(one.do(client, Operation.ATTACH)) == [Outcome.CONFIRMED]
    (event,) = one.do("C", Operation.ATTACH)
    assert (event.outcome, event.reason) == (Outcome.REJECTED, "the broker has 2 clients already (limits.clients)")
    one.do("A", Operation.DETACH)
    assert outcomes(one.do("C", Operation.ATTACH)) == [Outcome.CONFIRMED]


def test_advertisements_and_subscriptions_have_room_until_it_is_taken_and_when_it_is_free_again() -> None:
    room = 2 * (DECLARED_OVERHEAD + max(len(WANTED), len(ADVERTISED)))
    one = OneBroker(Limits(declared_bytes=room))

    def said(operation: Operation, id: str, body: bytes = b"") -> Outcome:
        (event,) = one.do("P", operation, id, body)
        return event.outcome

    one.do("P", Operation.ATTACH)
    assert said(Operation.ADVERTISE, "a1", ADVERTISED) is Outcome.CONFIRMED
    assert said(Operation.SUBSCRIBE, "s1", WANTED) is Outcome.CONFIRMED
    assert said(Operation.SUBSCRIBE, "s2", WANTED) is Outcome.REJECTED
    assert said(Operation.SUBSCRIBE, "s1", ADVERTISED) is Outcome.CONFIRMED, "it takes the place of the former"
    assert said(Operation.UNADVERTISE, "a1") is Outcome.CONFIRMED
    assert said(Operation.SUBSCRIBE, "s2", WANTED) is Outcome.CONFIRMED
    one.do("P", Operation.ATTACH)  # anew: with nothing
    assert [said(Operation.SUBSCRIBE, id, WANTED) for id in ("s3", "s4")] == [Outcome.CONFIRMED] * 2
    assert said(Operation.SUBSCRIBE, "s5", WANTED) is Outcome.REJECTED


def test_a_message_that_goes_round_in_circles_ends_here(one: OneBroker) -> None:
    """It would wander for ever otherwise, and its hops would at last not fit their field: no link would survive it."""
    one.do("P", Operation.ADVERTISE, "a1", ADVERTISED)
    header = encode_header(UnsubscribeHeader(()))
    for hops, dropped in ((MOST_HOPS, 0), (MOST_HOPS + 1, 1), (2**32 - 1, 2)):
        one.broker.neighbours.receive("B2", [Message(Kind.UNSUBSCRIBE, "x", header=header, hops=hops)])
        assert one.broker.dropped == dropped
    assert one.trace.of(Event.DROPPED)[0].text == "malformed: it travelled 10001 links"


def test_how_long_the_router_works_is_recorded_apart_from_when() -> None:
    """The stopwatch is read before and after routing, and twice by the router around its match: 1 of those 3 steps."""
    trace, ticks, now = ListTrace("B1"), count(), [500]
    config = BrokerConfig(id="B1", incarnation=1, protocol="tid")
    broker = Broker(config, lambda: now[0], trace, ManualTimers().schedule, stopwatch=lambda: 1000 * next(ticks))
    session = broker.sessions.open()

    def do(operation: Operation, id: str = "", body: bytes = b"") -> None:
        now[0] += 100
        broker.sessions.handle(session, [ClientRequest("P", 7, operation, id, body)])

    do(Operation.ATTACH)
    do(Operation.ADVERTISE, "a1", ADVERTISED)
    do(Operation.PUBLISH, "P:1", quote(20))
    do(Operation.PUBLISH, "P:2", quote(5))
    received = {record.id: record for record in trace.records if record.event is Event.RECEIVED}
    assert (received["P:1"].time, received["P:1"].duration) == (800, 3000)
    assert (received["a1"].time, received["a1"].duration) == (700, None)
    assert (received["P:2"].time, received["P:2"].duration) == (900, None), "it was refused, not routed"
    (matched,) = (record for record in trace.records if record.event is Event.MATCHED)
    assert (matched.time, matched.duration) == (800, 1000)
