"""Composite subscriptions at a broker core: their life, their events and log records, and what bounds cost."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from broker_service.config import Limits
from broker_service.core.composites import COMPOSITE_SUBSCRIPTIONS, INTERNAL, PARTIAL_MATCHES
from broker_service.core.session import DECLARED_OVERHEAD, Session
from broker_service.detection import LossReason
from broker_service.generated.content_pb2 import Composite as WireComposite
from broker_service.language import Operator, Predicate, Publication
from broker_service.language.composite_subscription import MAX_PARTS, CompositeSubscription
from broker_service.language.composite_wire import encode_composite
from broker_service.language.content import encode_publication
from broker_service.language.notation import parse_composite
from broker_service.messages import ClientEvent, ConstituentPublication, Kind, Message, Operation, Outcome
from record.log import Event
from record.time_units import SECOND
from tests.broker_service.overlay import CoreOverlay
from tests.broker_service.scripted import SCRIPTED, SCRIPTS, registered

STOCK = Predicate("class", Operator.STRING_EQUAL, "STOCK")
NEWS = Predicate("class", Operator.STRING_EQUAL, "NEWS")
SYMBOL = Predicate("symbol", Operator.PRESENT, "")
BOTH = "{[class,eq,'STOCK']}&{[class,eq,'NEWS']}"
SAME_SYMBOL = "{[class,eq,'STOCK'],[symbol,eq,$S$X]}&{[class,eq,'NEWS'],[symbol,eq,$S$X]}"


def line(limits: Limits | None = None) -> CoreOverlay:
    """B1, where P publishes stocks and news, B2, and B3, where S subscribes."""
    overlay = CoreOverlay([("B1", "B2"), ("B2", "B3")], limits=limits)
    overlay.attach("P", "B1")
    overlay.advertise("P", "stocks", [STOCK, SYMBOL])
    overlay.advertise("P", "news", [NEWS, SYMBOL])
    overlay.attach("S", "B3")
    overlay.settle()
    return overlay


def publish(overlay: CoreOverlay, *ids: str, symbol: str = "X", published: int = 0) -> None:
    """Publishes in turn; an id begins with `s` for stocks and with `n` for news."""
    for id in ids:
        overlay.publish("P", id, {"class": {"s": "STOCK", "n": "NEWS"}[id[0]], "symbol": symbol}, published)
        overlay.settle()


def compose(overlay: CoreOverlay, pattern: str = BOTH, id: str = "c", within: int | None = None) -> None:
    overlay.compose("S", id, pattern, within)
    overlay.settle()


def sizes(overlay: CoreOverlay, broker: str) -> Mapping[str, object]:
    tables = overlay.brokers[broker].tables()
    return {name: tables[name] for name in (COMPOSITE_SUBSCRIPTIONS, PARTIAL_MATCHES) if name in tables}


def test_a_detection_names_its_publications_in_order_of_publishing() -> None:
    overlay = line()
    compose(overlay)
    overlay.publish("P", "n1", {"class": "NEWS", "symbol": "X"}, published=2_000)
    overlay.settle()
    overlay.publish("P", "s1", {"class": "STOCK", "symbol": "X"}, published=1_000)
    overlay.settle()
    assert overlay.detected == {"S": [("c", ("s1", "n1"))]}
    assert overlay.notified == {}, "the parts are the broker's own, and nothing of them reaches the client"
    (detected,) = overlay.traces["B3"].of(Event.DETECTED)
    assert (detected.kind, detected.id, detected.client) == ("detection", "c", "S")
    assert (detected.publications, detected.duration) == (["s1", "n1"], 1_000)
    (delivered,) = overlay.traces["B3"].of(Event.DELIVERED)
    assert (delivered.kind, delivered.id, delivered.client, delivered.hops) == ("detection", "c", "S", 0)
    bodies = [encode_publication(parse) for parse in map(_content, ("STOCK", "NEWS"))]
    assert delivered.bytes == sum(map(len, bodies))
    assert overlay.brokers["B3"].delivered == 1
    assert overlay.brokers["B3"].clients == 1


def _content(kind: str) -> Publication:
    return Publication({"class": kind, "symbol": "X"})


def test_a_plain_subscription_of_the_same_client_is_notified_besides() -> None:
    overlay = line()
    compose(overlay)
    overlay.subscribe("S", "plain", [STOCK])
    overlay.settle()
    publish(overlay, "s1", "n1")
    assert overlay.notified == {"S": ["s1"]}
    assert overlay.detected == {"S": [("c", ("s1", "n1"))]}


def test_variables_agree_across_parts() -> None:
    overlay = line()
    compose(overlay, SAME_SYMBOL)
    publish(overlay, "s1", symbol="X")
    publish(overlay, "s2", "n2", symbol="Y")
    publish(overlay, "n1", symbol="X")
    assert overlay.detected == {"S": [("c", ("s2", "n2")), ("c", ("s1", "n1"))]}


def test_every_combination_is_detected_once_and_none_is_used_up() -> None:
    overlay = line()
    compose(overlay)
    publish(overlay, "s1", "s2", "n1", "n2")
    pairs = {(stock, news) for stock in ("s1", "s2") for news in ("n1", "n2")}
    assert sorted(overlay.detected["S"]) == sorted(("c", pair) for pair in pairs)


def test_the_window_is_measured_by_stamps() -> None:
    overlay = line()
    compose(overlay, within=100)
    publish(overlay, "s1", published=1_000)
    publish(overlay, "n1", published=1_101)
    publish(overlay, "n2", published=1_100)
    publish(overlay, "n3", published=900)
    assert overlay.detected == {"S": [("c", ("s1", "n2")), ("c", ("n3", "s1"))]}


def test_a_composite_without_a_window_has_the_brokers_own() -> None:
    overlay = line(Limits(detection_window=2.0))
    compose(overlay)
    publish(overlay, "s1", published=SECOND)
    publish(overlay, "n1", published=3 * SECOND + 1)
    publish(overlay, "n2", published=3 * SECOND)
    assert overlay.detected == {"S": [("c", ("s1", "n2"))]}


def test_the_same_again_changes_nothing() -> None:
    overlay = line()
    compose(overlay)
    publish(overlay, "s1")
    compose(overlay)
    publish(overlay, "n1")
    assert overlay.detected == {"S": [("c", ("s1", "n1"))]}


@pytest.mark.parametrize("again", [BOTH.replace("&", "||"), SAME_SYMBOL])
def test_another_pattern_under_the_same_name_begins_anew(again: str) -> None:
    overlay = line()
    compose(overlay, SAME_SYMBOL if again != SAME_SYMBOL else BOTH)
    publish(overlay, "s1")
    compose(overlay, again)
    publish(overlay, "n1")
    assert ("c", ("s1", "n1")) not in overlay.detected["S"]


def test_another_window_under_the_same_name_begins_anew() -> None:
    overlay = line()
    compose(overlay, within=SECOND)
    publish(overlay, "s1")
    compose(overlay, within=2 * SECOND)
    publish(overlay, "n1", "s2")
    assert overlay.detected == {"S": [("c", ("n1", "s2"))]}


def test_a_withdrawn_composite_leaves_nothing_anywhere() -> None:
    overlay = line()
    before = {name: broker.tables() for name, broker in overlay.brokers.items()}
    compose(overlay, "({[class,eq,'STOCK']}&{[class,eq,'NEWS']})||{[class,eq,'STOCK'],[symbol,eq,'Z']}")
    publish(overlay, "s1")
    assert sizes(overlay, "B3") == {COMPOSITE_SUBSCRIPTIONS: 1, PARTIAL_MATCHES: 1}
    overlay.request("S", Operation.UNSUBSCRIBE, "c")
    overlay.settle()
    assert {name: broker.tables() for name, broker in overlay.brokers.items()} == before
    publish(overlay, "n1")
    assert overlay.detected == {}
    overlay.request("S", Operation.UNSUBSCRIBE, "c")
    overlay.settle()
    assert overlay.rejected == ["client 'S' has no subscription 'c'"]


def test_a_composite_made_again_has_nothing_of_the_former_one() -> None:
    overlay = line()
    compose(overlay)
    publish(overlay, "s1")
    overlay.request("S", Operation.UNSUBSCRIBE, "c")
    compose(overlay)
    publish(overlay, "n1")
    assert overlay.detected == {}


def test_subscriptions_and_composites_share_their_names() -> None:
    overlay = line()
    overlay.subscribe("S", "c", [STOCK])
    compose(overlay)
    publish(overlay, "s1", "n1")
    assert (overlay.notified, overlay.detected) == ({}, {"S": [("c", ("s1", "n1"))]})
    overlay.subscribe("S", "c", [NEWS])
    overlay.settle()
    publish(overlay, "s2", "n2")
    assert (overlay.notified, overlay.detected) == ({"S": ["n2"]}, {"S": [("c", ("s1", "n1"))]})
    assert sizes(overlay, "B3") == {}


def test_composites_of_one_client_are_detected_each_by_itself() -> None:
    overlay = line()
    compose(overlay, BOTH, "c1")
    compose(overlay, SAME_SYMBOL, "c2")
    publish(overlay, "s1", "n1")
    assert sorted(overlay.detected["S"]) == [("c1", ("s1", "n1")), ("c2", ("s1", "n1"))]


def test_a_client_that_moves_begins_anew() -> None:
    overlay = line()
    compose(overlay)
    publish(overlay, "s1")
    overlay.request("S", Operation.DETACH)
    overlay.settle()
    assert sizes(overlay, "B3") == {}
    overlay.attach("S", "B2")
    compose(overlay)
    publish(overlay, "n1", "s2")
    assert overlay.detected == {"S": [("c", ("n1", "s2"))]}


def test_names_of_internal_clients_are_refused() -> None:
    overlay = line()
    overlay.attach(f"{INTERNAL}composite/1/0", "B3")
    overlay.settle()
    assert overlay.rejected == [r"the name of a client does not begin with '\x00'"]


def deep() -> bytes:
    """More levels than a pattern has."""
    message = WireComposite()
    pattern = message.pattern
    for _ in range(40):
        pattern = pattern.all.operands.add()
    return message.SerializeToString()


def parts(count: int) -> bytes:
    message = WireComposite()
    for _ in range(count):
        predicate = message.pattern.all.operands.add().part.predicates.add()
        predicate.attribute, predicate.operator, predicate.value.text = "class", "eq", "STOCK"
    return message.SerializeToString()


def window(nanoseconds: int) -> bytes:
    message = WireComposite()
    message.ParseFromString(parts(2))
    message.within = nanoseconds
    return message.SerializeToString()


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"\xff\xff\xff", "cannot be decoded"),
        (b"", "a pattern without content"),
        (deep(), "nested deeper"),
        (parts(MAX_PARTS + 1), "parts"),
        (window(2**64 - 1), "a window of"),
    ],
)
def test_a_composite_that_is_none_is_refused_with_the_reason(body: bytes, reason: str) -> None:
    overlay = line()
    compose(overlay)
    overlay.request("S", Operation.COMPOSE, "c", body)
    overlay.settle()
    (refused,) = overlay.rejected
    assert reason in refused
    (record,) = overlay.traces["B3"].of(Event.REJECTED)
    assert (record.kind, record.id) == ("compose", "c")
    publish(overlay, "s1", "n1")
    assert overlay.detected == {"S": [("c", ("s1", "n1"))]}, "the one that was there before stands"


@pytest.mark.parametrize("within", [0, 2**63 - 1])
@pytest.mark.parametrize("stamp", [1, 2**64 - 1])
def test_any_window_and_any_stamp_are_taken(within: int, stamp: int) -> None:
    overlay = line()
    compose(overlay, within=within)
    publish(overlay, "s1", "n1", published=stamp)
    assert overlay.detected == {"S": [("c", ("n1", "s1"))]}


def test_parts_count_as_declarations() -> None:
    pattern = f"{BOTH}&{BOTH}"
    size = 4 * DECLARED_OVERHEAD + len(encode_composite(CompositeSubscription(parse_composite(pattern))))
    for room, refused in ((size, False), (size - 1, True)):
        overlay = line(Limits(declared_bytes=room))
        compose(overlay, pattern)
        assert bool(overlay.rejected) is refused


def test_a_full_detector_logs_what_it_drops() -> None:
    overlay = line(Limits(partial_matches=2))
    compose(overlay)
    publish(overlay, "s1", "s2", "s3", "n1")
    assert {ids for _, ids in overlay.detected["S"]} == {("s2", "n1"), ("s3", "n1")}
    dropped = overlay.traces["B3"].of(Event.DROPPED)
    assert [(record.kind, record.id, record.client, record.count) for record in dropped] == [
        ("detection", "s1", "S", 1), ("detection", "s2", "S", 1),
    ]  # fmt: skip
    assert {record.text for record in dropped} == {f"{LossReason.MATCHES.value}: composite c"}


def test_too_many_detections_at_once_are_dropped_and_counted() -> None:
    overlay = line(Limits(detections_at_once=2))
    compose(overlay)
    publish(overlay, "s1", "s2", "s3", "n1")
    assert len(overlay.detected["S"]) == 2
    (dropped,) = overlay.traces["B3"].of(Event.DROPPED)
    assert (dropped.id, dropped.count) == ("n1", 1)
    assert dropped.text == f"{LossReason.DETECTIONS.value}: composite c"


def test_a_session_that_does_not_read_loses_detections_and_that_is_logged() -> None:
    overlay = line(Limits(session_queue=1))
    compose(overlay)
    publish(overlay, "s1", "s2")
    overlay.publish("P", "n1", {"class": "NEWS", "symbol": "X"})
    for sender, receiver in (("B1", "B2"), ("B2", "B3")):
        overlay.brokers[receiver].neighbours.receive(sender, overlay.brokers[sender].links[receiver].take())
    (dropped,) = overlay.traces["B3"].of(Event.DROPPED)
    assert (dropped.kind, dropped.id, dropped.client, dropped.count) == ("detection", "n1", "S", 1)
    assert dropped.text == "client session does not read: composite c"


def test_what_has_been_kept_long_enough_expires_while_nothing_arrives() -> None:
    overlay = line(Limits(detection_lateness=2.0))
    compose(overlay, within=SECOND)
    (expiry,) = [(broker, key) for broker, key in overlay.timers if broker == "B3" and "expiry" in str(key)]
    assert overlay.timers[expiry] == 2.0
    publish(overlay, "s1")
    overlay.time += 3 * SECOND
    overlay.fire_timers()
    assert sizes(overlay, "B3") == {COMPOSITE_SUBSCRIPTIONS: 1}
    assert expiry in overlay.timers
    overlay.request("S", Operation.UNSUBSCRIBE, "c")
    overlay.settle()
    overlay.fire_timers()
    assert expiry not in overlay.timers


def test_contents_of_detections_count_for_the_room_in_a_session() -> None:
    session = Session(10, most_bytes=100)
    detection = ClientEvent(
        Outcome.NOTIFIED,
        ("S",),
        id="c",
        publications=tuple(ConstituentPublication(f"p{number}", bytes(30)) for number in range(3)),
    )
    for _ in range(3):
        assert [session.put(detection), session.put(detection)] == [(), [detection]]
        assert session.take(10) == [detection]
    assert session.take(10, most_bytes=1) == []


def test_a_content_that_cannot_be_read_is_dropped() -> None:
    """A hostile neighbour may deliver it to a part: brokers match a publication before its last hop."""
    overlay = line()
    compose(overlay, SAME_SYMBOL)
    broker = overlay.brokers["B3"]
    part = f"{INTERNAL}composite/1/0"
    assert list(broker._actions.composites.arrive(Message(Kind.PUBLISH, "s1", b"\xff"), [part, "S", "unknown"])) == []
    (dropped,) = overlay.traces["B3"].of(Event.DROPPED)
    assert (dropped.kind, dropped.id) == ("publish", "s1")
    assert (dropped.text or "").startswith("malformed: ")
    publish(overlay, "s1", "n1")
    assert overlay.detected == {"S": [("c", ("s1", "n1"))]}


def test_the_end_of_a_broker_ends_the_timer() -> None:
    overlay = line()
    compose(overlay)
    timers = len(overlay.timers)
    overlay.brokers["B3"].cancel_timers()
    assert len(overlay.timers) == timers - 1


def test_a_composite_subscription_has_started_when_all_of_its_parts_have() -> None:
    with registered():
        overlay = CoreOverlay([], ["B1"], protocol=SCRIPTED)
    overlay.attach("P", "B1")
    overlay.advertise("P", "scripts", SCRIPTS.predicates)
    overlay.attach("S", "B1")
    compose(overlay)
    for do, started in (("start:0", []), ("start:0", []), ("start:1", ["c"])):
        overlay.publish("P", do, {"class": "SCRIPT", "do": do})
        overlay.settle()
        assert overlay.started == started
    compose(overlay)  # it stands, and has started
    assert overlay.started == ["c", "c"]
    compose(overlay, SAME_SYMBOL)
    overlay.publish("P", "again", {"class": "SCRIPT", "do": "start:1"})
    overlay.settle()
    assert overlay.started == ["c", "c"]
