"""Content-based forwarding on broker cores: the paper's example, and messages that no correct neighbour sends."""

from __future__ import annotations

import pytest

from broker_service.language import Operator, Predicate
from broker_service.language.content import encode_predicates
from broker_service.messages import Kind, Message, Operation
from broker_service.routing.common.decoding import encode_header
from record.log import Event
from tests.broker_service.overlay import CoreOverlay

EVENTS = Predicate("class", Operator.STRING_EQUAL, "EVENT")
LINKS = [("A", "C"), ("B", "C"), ("C", "D"), ("C", "E"), ("E", "F"), ("F", "G"), ("G", "H")]
WANTED = {"A": {1, 5}, "B": {7, 8}, "C": {1, 2}, "D": {0, 6}, "E": {2, 3, 5}, "F": {5, 7}, "G": {4, 6}, "H": {2, 9}}
"""Event values that clients of each server want: MEDYM's Fig. 1 as its forwarding tables and Fig. 3 and 4 tell it."""
FIGURE_2 = {
    "A": {"C": {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
    "B": {"C": {0, 1, 2, 3, 4, 5, 6, 7, 9}},
    "C": {"A": {1, 5}, "B": {7, 8}, "D": {0, 6}, "E": {2, 3, 4, 5, 6, 7, 9}},
    "D": {"C": {1, 2, 3, 4, 5, 6, 7, 8, 9}},
    "E": {"C": {0, 1, 2, 5, 6, 7, 8}, "F": {2, 4, 5, 6, 7, 9}},
    "F": {"E": {0, 1, 2, 3, 5, 6, 7, 8}, "G": {2, 4, 6, 9}},
    "G": {"F": {0, 1, 2, 3, 5, 6, 7, 8}, "H": {2, 9}},
    "H": {"G": {0, 1, 2, 3, 4, 5, 6, 7, 8}},
}
"""Forwarding tables of MEDYM's Fig. 2, by server and neighbour."""


def figure_2() -> CoreOverlay:
    overlay = CoreOverlay(LINKS, protocol="cbf")
    for server, values in WANTED.items():
        overlay.attach(f"S{server}", server)
        for value in sorted(values):
            overlay.subscribe(f"S{server}", f"s{value}", [Predicate("v", Operator.EQUAL, value)])
    overlay.attach("P", "A")
    overlay.advertise("P", "a", [EVENTS, Predicate("v", Operator.GREATER_OR_EQUAL, 0)])
    overlay.settle()
    return overlay


def test_forwarding_tables_are_those_of_figure_2() -> None:
    overlay = figure_2()
    for server, directions in FIGURE_2.items():
        table = overlay.brokers[server].tables()["forwarding_table"]
        assert isinstance(table, dict)
        assert {neighbour: set(wanted) for neighbour, wanted in table.items()} == {
            neighbour: {f"[v,=,{value}]" for value in values} for neighbour, values in directions.items()
        }


def test_event_2_is_matched_again_on_its_way_to_h() -> None:
    """It crosses F and G, which have no client that wants it (section 2.1)."""
    overlay = figure_2()
    overlay.publish("P", "P:1", {"class": "EVENT", "v": 2})
    overlay.settle()
    assert {client for client, ids in overlay.notified.items() if ids} == {"SC", "SE", "SH"}
    matched = {name for name, trace in overlay.traces.items() if trace.of(Event.MATCHED)}
    assert matched == {"A", "C", "E", "F", "G", "H"}


def test_equal_subscriptions_are_announced_once_and_withdrawn_with_the_last() -> None:
    overlay = CoreOverlay([("A", "B")], protocol="cbf")
    for client in ("S", "T"):
        overlay.attach(client, "A")
        overlay.subscribe(client, "s", [Predicate("v", Operator.EQUAL, 1), EVENTS][:: 1 if client == "S" else -1])
    overlay.settle()
    (announced,) = overlay.traces["B"].of(Event.RECEIVED)
    assert announced.kind == "subscribe"
    overlay.request("S", Operation.UNSUBSCRIBE, "s")
    overlay.settle()
    assert len(overlay.traces["B"].of(Event.RECEIVED)) == 1
    overlay.request("T", Operation.UNSUBSCRIBE, "s")
    overlay.settle()
    assert overlay.brokers["B"].tables()["forwarding_table"] == {"A": []}


def test_gathered_changes_travel_together() -> None:
    overlay = gathering([("A", "B"), ("B", "C")])
    for value in (1, 2, 3):
        overlay.subscribe("S", f"s{value}", [Predicate("v", Operator.EQUAL, value)])
    overlay.request("S", Operation.UNSUBSCRIBE, "s2")
    overlay.settle()
    assert not overlay.traces["B"].of(Event.RECEIVED)
    for receiver in ("B", "C"):
        overlay.fire_timers()
        overlay.settle()
        (received,) = overlay.traces[receiver].of(Event.RECEIVED)
        assert (received.kind, received.label) == ("control", "sums")
    assert overlay.brokers["C"].tables()["forwarding_table"] == {"B": ["[v,=,1]", "[v,=,3]"]}
    overlay.request("S", Operation.UNSUBSCRIBE, "s3")
    overlay.fire_timers()
    overlay.settle()
    assert overlay.brokers["B"].tables()["forwarding_table"] == {"A": ["[v,=,1]"], "C": []}


def test_what_is_subscribed_again_before_its_withdrawal_is_announced_is_not_announced() -> None:
    overlay = gathering([("A", "B")])
    overlay.subscribe("S", "s", [EVENTS])
    overlay.fire_timers()
    overlay.settle()
    overlay.request("S", Operation.UNSUBSCRIBE, "s")
    overlay.subscribe("S", "t", [EVENTS])
    overlay.fire_timers()
    overlay.settle()
    assert len(overlay.traces["B"].of(Event.RECEIVED)) == 1


def test_sums_that_do_not_fit_into_a_message_travel_in_several() -> None:
    overlay = gathering([("A", "B")])
    long = "x" * 4000
    for value in range(20):
        overlay.subscribe("S", f"s{value}", [Predicate("v", Operator.STRING_EQUAL, f"{long}{value}")])
    overlay.fire_timers()
    overlay.settle()
    assert len(overlay.traces["B"].of(Event.RECEIVED)) == 2
    table = overlay.brokers["B"].tables()["forwarding_table"]
    assert isinstance(table, dict) and len(table["A"]) == 20


def gathering(links: list[tuple[str, str]]) -> CoreOverlay:
    overlay = CoreOverlay(links, protocol="cbf", options={"announce_after": 0.5})
    overlay.attach("S", "A")
    return overlay


MALFORMED = {
    "a subscription that is none": Message(Kind.SUBSCRIBE, "A.1.1", b"\xff\xff"),
    "an advertisement that is none": Message(Kind.ADVERTISE, "A.1.1", b"\xff\xff"),
    "changes that are none": Message(Kind.CONTROL, "A.1.1"),
    "a change that is none": Message(
        Kind.CONTROL,
        "A.1.1",
        b"",
        encode_header([(False, encode_predicates((EVENTS,))), (False, b"\xff\xff")]),
    ),
}


@pytest.mark.parametrize("message", MALFORMED.values(), ids=MALFORMED)
def test_what_cannot_be_read_is_dropped(message: Message) -> None:
    overlay = CoreOverlay([("A", "B")], protocol="cbf")
    overlay.brokers["B"].neighbours.receive("A", [message])
    (dropped,) = overlay.traces["B"].of(Event.DROPPED)
    assert (dropped.text or "").startswith("malformed")
    assert overlay.brokers["B"].tables()["forwarding_table"] == {"A": []}


def test_withdrawals_of_what_is_unknown_change_nothing() -> None:
    overlay = CoreOverlay([("A", "B")], protocol="cbf")
    overlay.brokers["B"].neighbours.receive(
        "A", [Message(Kind.UNSUBSCRIBE, "A.1.1", b"x"), Message(Kind.UNADVERTISE, "A.1.2")]
    )
    assert not overlay.traces["B"].of(Event.DROPPED)
