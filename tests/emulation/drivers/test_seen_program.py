"""The log of a client program, by the frames that pass between it and its broker."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from analysis.judging.language import composed as composed_of
from analysis.judging.language import parts_of
from broker_service.language import Operator, Predicate, Publication
from broker_service.language.composite_subscription import CompositeSubscription
from broker_service.language.composite_wire import decode_composite, encode_composite
from broker_service.language.content import encode_predicates, encode_publication
from broker_service.language.notation import parse_composite
from broker_service.messages import BrokerFrame, ClientEvent, ClientFrame, ClientRequest, Operation, Outcome
from broker_service.tracing.trace import Recorder
from emulation.drivers.clients import Clients, SessionEnd
from emulation.drivers.seen_program import HandedOver, NonsenseError, SeenProgram, SeenStream
from emulation.drivers.status import ClientCounts
from record.log import Event, TraceRecord

QUOTES = encode_predicates((Predicate("class", Operator.STRING_EQUAL, "STOCK"),))
PAIR = encode_composite(CompositeSubscription(parse_composite("{[class,eq,'STOCK']}&{[class,eq,'NEWS']}")))
QUOTE = encode_publication(Publication({"class": "STOCK", "close": 3}))


class Log:
    """Log records in memory."""

    node, variant = "programs", "base"

    def __init__(self) -> None:
        self.records: list[TraceRecord] = []

    @property
    def written(self) -> int:
        return len(self.records)

    def write(self, record: TraceRecord) -> None:
        self.records.append(record)

    def take(self) -> list[tuple[str, str | None, str | None]]:
        """Event, kind and id of the records since the last call."""
        taken, self.records = self.records, []
        return [(record.event.value, record.kind, record.id) for record in taken]


class Laboratory:
    """A program S1 of the broker B1, and the log of what it does."""

    def __init__(self, *, keeps_accepted: bool = False) -> None:
        self.log, handed_over = Log(), HandedOver()
        recorder = Recorder(self.log, iter(range(1, 1000)).__next__)
        sessions = {SessionEnd("B1", "S1").key: handed_over}
        clients = Clients(sessions, recorder, ClientCounts(), keeps_accepted=keeps_accepted, at_sites={"S1"})
        self.program = SeenProgram("S1", "B1", clients, handed_over)

    def stream(self) -> SeenStream:
        stream = SeenStream(self.program)
        stream.ask(ClientFrame([], "a session"))
        ask(stream, (1, Operation.ATTACH, "", b""))
        tell(stream, confirmed(1))
        assert self.log.take() == []
        return stream


def ask(stream: SeenStream, *requests: tuple[int, Operation, str, bytes]) -> None:
    stream.ask(ClientFrame([ClientRequest("S1", *request) for request in requests]))


def tell(stream: SeenStream, *events: ClientEvent, acknowledged: int = 0) -> None:
    stream.tell(BrokerFrame(events, acknowledged=acknowledged))


def confirmed(number: int, id: str = "") -> ClientEvent:
    return ClientEvent(Outcome.CONFIRMED, ("S1",), number, id)


def rejected(number: int, id: str) -> ClientEvent:
    return ClientEvent(Outcome.REJECTED, ("S1",), number, id, reason="no")


def test_requests_and_answers_are_logged_as_drivers_log_theirs() -> None:
    laboratory = Laboratory()
    stream, log = laboratory.stream(), laboratory.log
    ask(stream, (2, Operation.ADVERTISE, "a", QUOTES), (3, Operation.SUBSCRIBE, "s", QUOTES))
    ask(stream, (4, Operation.PUBLISH, "p", QUOTE))
    advertised, _, published = log.records
    assert advertised.predicates is not None
    assert [(one.attribute, one.operator, one.string) for one in advertised.predicates] == [("class", "eq", "STOCK")]
    assert (published.strings, published.numbers) == ({"class": "STOCK"}, {"close": 3})
    assert (published.client, published.peer, published.bytes) == ("S1", "B1", len(QUOTE))
    assert published.intended == published.time
    log.take()
    tell(stream, confirmed(2, "a"), rejected(3, "s"), ClientEvent(Outcome.NOTIFIED, ("S1",), id="p", body=QUOTE))
    tell(stream, rejected(4, "p"))
    assert log.take() == [
        ("confirmed", "advertise", "a"),
        ("rejected", "subscribe", "s"),
        ("notified", "publish", "p"),
        ("rejected", "publish", "p"),
    ]


def withdrawn(*ids: str) -> list[tuple[str, str | None, str | None]]:
    return [(event, "unsubscribe", id) for event in ("unsubscribe", "confirmed") for id in ids]


def test_the_end_of_a_stream_withdraws_what_stands_and_answers_what_waits() -> None:
    laboratory = Laboratory()
    stream, log = laboratory.stream(), laboratory.log
    ask(stream, (2, Operation.SUBSCRIBE, "stands", QUOTES), (3, Operation.SUBSCRIBE, "refused", QUOTES))
    ask(stream, (4, Operation.SUBSCRIBE, "over", QUOTES), (5, Operation.UNSUBSCRIBE, "over", b""))
    tell(stream, confirmed(2, "stands"), rejected(3, "refused"), confirmed(4, "over"), confirmed(5, "over"))
    ask(stream, (6, Operation.SUBSCRIBE, "waits", QUOTES))
    log.take()
    stream.end()
    assert log.take() == [("confirmed", "subscribe", "waits"), *withdrawn("stands", "waits")]
    stream.end()
    assert log.take() == []


@pytest.mark.parametrize("operation", [Operation.ATTACH, Operation.DETACH])
def test_to_attach_again_and_to_detach_withdraw_what_stands(operation: Operation) -> None:
    laboratory = Laboratory()
    stream, log = laboratory.stream(), laboratory.log
    ask(stream, (2, Operation.SUBSCRIBE, "s", QUOTES))
    tell(stream, confirmed(2, "s"))
    log.take()
    ask(stream, (3, operation, "", b""))
    assert log.take() == [("unsubscribe", "unsubscribe", "s")]
    tell(stream, confirmed(3))
    assert log.take() == [("confirmed", "unsubscribe", "s")]


def test_to_attach_on_another_stream_leaves_nothing_to_the_former_one() -> None:
    laboratory = Laboratory()
    former, log = laboratory.stream(), laboratory.log
    ask(former, (2, Operation.SUBSCRIBE, "s", QUOTES))
    tell(former, confirmed(2, "s"))
    log.take()
    later = SeenStream(laboratory.program)
    ask(later, (1, Operation.ATTACH, "", b""))
    tell(later, confirmed(1))
    assert log.take() == withdrawn("s")
    with pytest.raises(NonsenseError, match="asked for UNSUBSCRIBE before it had attached"):
        ask(former, (3, Operation.UNSUBSCRIBE, "s", b""))
    former.end()
    assert log.take() == []
    assert laboratory.program.attached is later


def test_what_a_new_stream_repeats_is_logged_once_if_it_is_a_publication() -> None:
    laboratory = Laboratory(keeps_accepted=True)
    stream, log = laboratory.stream(), laboratory.log
    ask(stream, (2, Operation.ADVERTISE, "a", QUOTES), (3, Operation.PUBLISH, "p", QUOTE))
    tell(stream, confirmed(2, "a"))
    stream.end()
    log.take()
    stream = SeenStream(laboratory.program)
    stream.ask(ClientFrame([], "a session"))
    ask(
        stream,
        (0, Operation.ATTACH, "", b""),
        (0, Operation.ADVERTISE, "a", QUOTES),
        (3, Operation.PUBLISH, "p", QUOTE),
    )
    ask(stream, (4, Operation.PUBLISH, "q", QUOTE))
    tell(stream, confirmed(0), confirmed(0, "a"), acknowledged=4)
    assert log.take() == [
        ("advertise", "advertise", "a"),
        ("publish", "publish", "q"),
        ("confirmed", "advertise", "a"),
        ("confirmed", "publish", "q"),
    ]


def requests(*made: ClientRequest) -> Iterable[ClientRequest]:
    return [ClientRequest("S1", 2, Operation.SUBSCRIBE, "s", QUOTES), *made]


@pytest.mark.parametrize(
    ("request_", "sentence"),
    [
        (ClientRequest("S2", 3, Operation.SUBSCRIBE, "t", QUOTES), "spoke for the client 'S2', which it is not"),
        (ClientRequest("S1", 3, Operation.COMPOSE, "t", b"\xff"), "sent a composite subscription 't' that cannot be"),
        (ClientRequest("S1", 3, Operation.COMPOSE, "t", PAIR), "sent a composite subscription 't' without a window"),
        (ClientRequest("S1", 3, Operation.SUBSCRIBE, "t", b"\xff"), "sent a subscription 't' that cannot be read"),
        (ClientRequest("S1", 3, Operation.PUBLISH, "t", b"\xff"), "sent a publication 't' that cannot be read"),
    ],
)
def test_of_a_frame_with_nonsense_nothing_is_logged(request_: ClientRequest, sentence: str) -> None:
    laboratory = Laboratory()
    stream = laboratory.stream()
    with pytest.raises(NonsenseError, match=sentence):
        stream.ask(ClientFrame(list(requests(request_))))
    assert laboratory.log.take() == []


def test_who_has_not_attached_asks_for_nothing() -> None:
    stream = SeenStream(Laboratory().program)
    with pytest.raises(NonsenseError, match="asked for SUBSCRIBE before it had attached"):
        ask(stream, (1, Operation.SUBSCRIBE, "s", QUOTES))


def notified(number: int) -> ClientEvent:
    return ClientEvent(Outcome.NOTIFIED, ("S1",), number, f"p{number}", QUOTE)


def numbered(program: SeenProgram, session: str = "a session") -> SeenStream:
    """A stream of the program, whose notifications are to be numbered."""
    stream = SeenStream(program)
    stream.ask(ClientFrame([], session, numbered=True))
    return stream


def logged(log: Log, event: Event) -> list[tuple[int | None, str | None]]:
    """Number and text of the records of an event since the last call."""
    taken, log.records = log.records, []
    return [(record.count, record.text) for record in taken if record.event is event]


@pytest.mark.parametrize(
    ("numbers", "wrong"),
    [
        ([1, 2, 3], []),
        ([0, 0, 0], []),
        ([2, 3], [(2, "1 was due")]),
        ([1, 3, 4], [(3, "2 was due")]),
        ([1, 2, 2, 3], [(2, "3 was due")]),
        ([1, 2, 0], [(0, "3 was due")]),
    ],
)
def test_a_number_that_is_not_the_next_is_logged(numbers: list[int], wrong: list[tuple[int, str]]) -> None:
    laboratory = Laboratory()
    stream = numbered(laboratory.program)
    tell(stream, *map(notified, numbers))
    assert logged(laboratory.log, Event.MISNUMBERED) == wrong


@pytest.mark.parametrize(("first", "wrong"), [(3, []), (9, []), (1, []), (2, [(2, "3 was due")]), (0, [])])
def test_a_further_stream_goes_on_leaves_some_out_or_begins_anew(first: int, wrong: list[tuple[int, str]]) -> None:
    laboratory = Laboratory()
    stream = numbered(laboratory.program)
    tell(stream, notified(1), notified(2))
    stream.end()
    tell(numbered(laboratory.program), notified(first))
    tell(numbered(laboratory.program, "another session"), notified(1))
    assert logged(laboratory.log, Event.MISNUMBERED) == wrong


def test_what_is_not_acknowledged_at_the_end_is_unprocessed_once_a_program_acknowledges() -> None:
    laboratory = Laboratory()
    stream = numbered(laboratory.program)
    tell(stream, *map(notified, range(1, 4)))
    stream.end()
    assert not logged(laboratory.log, Event.UNPROCESSED)
    stream = numbered(laboratory.program)
    tell(stream, *map(notified, range(4, 8)))
    stream.ask(ClientFrame(acknowledged=5))
    stream.ask(ClientFrame(acknowledged=4))
    stream.end()
    stream.end()
    assert logged(laboratory.log, Event.UNPROCESSED) == [(6, None), (7, None)]
    stream = numbered(laboratory.program)
    tell(stream, notified(8))
    stream.end()
    assert logged(laboratory.log, Event.UNPROCESSED) == [(8, None)]


def test_nobody_acknowledges_what_has_not_come_on_the_same_stream() -> None:
    laboratory = Laboratory()
    stream = numbered(laboratory.program)
    with pytest.raises(NonsenseError, match="acknowledged notification 1, and had got none on this stream"):
        stream.ask(ClientFrame(acknowledged=1))
    tell(stream, notified(1), notified(2))
    with pytest.raises(NonsenseError, match="acknowledged notification 3, and had got 2 on this stream"):
        stream.ask(ClientFrame(acknowledged=3))
    stream.end()
    with pytest.raises(NonsenseError, match="acknowledged notification 2, and had got none on this stream"):
        numbered(laboratory.program).ask(ClientFrame(acknowledged=2))


def test_a_composite_subscription_is_logged_with_its_pattern_and_shares_the_names_of_subscriptions() -> None:
    laboratory = Laboratory()
    stream, log = laboratory.stream(), laboratory.log
    body = encode_composite(CompositeSubscription(decode_composite(PAIR).pattern, 5_000_000))
    ask(stream, (2, Operation.SUBSCRIBE, "s", QUOTES), (3, Operation.COMPOSE, "c", body))
    _, composed = log.records
    assert (composed.text, composed.duration) == ("{{[class,eq,'STOCK']}&{[class,eq,'NEWS']}}", 5_000_000)
    assert len(parts_of(composed_of(composed.text, composed.duration).pattern)) == 2
    ask(stream, (4, Operation.UNSUBSCRIBE, "c", b""))
    log.take()
    tell(stream, confirmed(2, "s"), confirmed(3, "c"), confirmed(4, "c"))
    assert log.take() == [
        ("confirmed", "subscribe", "s"),
        ("confirmed", "compose", "c"),
        ("confirmed", "unsubscribe", "c"),
    ]
    ask(stream, (5, Operation.COMPOSE, "d", body))
    log.take()
    stream.end()
    assert log.take() == [("confirmed", "compose", "d"), *withdrawn("s", "d")]


def test_publications_are_passed_on_with_the_time_of_their_record_and_repeated_with_the_first() -> None:
    laboratory = Laboratory()
    stream = laboratory.stream()
    laboratory.program.clients.clock_offset = 10_000
    publish = ClientRequest("S1", 3, Operation.PUBLISH, "p", QUOTE, 77)
    (passed,) = stream.ask(ClientFrame([publish]))
    (record,) = laboratory.log.records
    assert passed == ClientRequest("S1", 3, Operation.PUBLISH, "p", QUOTE, record.time + 10_000)
    stream.end()
    further = SeenStream(laboratory.program)
    further.ask(ClientFrame([], "a session"))
    _, repeated = further.ask(ClientFrame([ClientRequest("S1", 0, Operation.ATTACH), publish]))
    assert repeated == passed
    tell(further, acknowledged=3)
    assert not laboratory.program.stamps["a session"]
