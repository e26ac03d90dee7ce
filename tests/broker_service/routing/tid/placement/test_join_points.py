"""Moves of join points over overlays of broker cores: make before break, and each set once."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_service.language import Operator, Predicate
from broker_service.messages import Operation
from record.log import Event
from record.time_units import SECOND
from tests.broker_service.language.strategies import unhurried
from tests.broker_service.overlay import CoreOverlay
from tests.broker_service.routing.tid.placement.test_units import (
    PATTERN,
    TREE,
    compose,
    detecting,
    kind,
    overlay_of,
    publish,
    with_units,
)

WITHIN, LATENESS = 60, 30
"""Seconds, by default."""


def pass_time(overlay: CoreOverlay, seconds: float) -> None:
    overlay.time += round(seconds * SECOND)
    overlay.fire_timers()
    overlay.settle()


def moved() -> CoreOverlay:
    """The unit of S was joined at B4 and has moved to B1, where P publishes twenty times as much as Q at B2."""
    overlay = overlay_of("dcsr")
    compose(overlay)
    publish(overlay, "Q", "q0")
    for number in range(20):
        publish(overlay, "P", f"p{number}")
    overlay.detected.clear()
    pass_time(overlay, 10)
    pass_time(overlay, 0)
    return overlay


def joined(overlay: CoreOverlay) -> list[tuple[str, str | None]]:
    return [(record.node, record.peer) for record in sorted(overlay.records(Event.JOINED), key=lambda one: one.time)]


def test_the_join_point_moves_to_the_faster_publisher_and_the_former_one_goes_on() -> None:
    overlay = moved()
    assert joined(overlay) == [("B4", None), ("B1", "B4")]
    (move,) = overlay.records(Event.MOVED)
    assert (move.node, move.peer, move.text) == ("B4", "B3", "least total routing cost")
    decided = move.placement
    assert decided is not None and decided.move == 1
    costs = {place.broker: place.cost or 0.0 for place in decided.costs}
    assert costs["B3"] < 0.9 * costs["B4"]
    assert detecting(overlay) == ["B1", "B4"]


def test_sets_from_before_from_after_and_across_a_move_come_once() -> None:
    overlay = moved()
    publish(overlay, "P", "across")
    publish(overlay, "Q", "q1")
    (sets,) = overlay.detected.values()
    old = [f"p{number}" for number in range(20)]
    assert sorted(publications for _, publications in sets) == sorted(
        [("q0", "across"), ("across", "q1"), *((one, "q1") for one in old)]
    )


def test_the_former_join_point_ends_when_the_window_and_lateness_have_passed() -> None:
    overlay = moved()
    pass_time(overlay, WITHIN + LATENESS - 5)
    assert detecting(overlay) == ["B1", "B4"]
    pass_time(overlay, 5)
    assert detecting(overlay) == ["B1"]
    assert [(record.node, record.text) for record in overlay.records(Event.LEFT)] == [
        ("B4", "another broker has taken over")
    ]
    publish(overlay, "Q", "q1")
    publish(overlay, "P", "late")
    assert overlay.detected == {"S": [("c", ("q1", "late"))]}
    assert not [record for record in overlay.traces["B5"].of(Event.RECEIVED) if record.kind == "publish"]


def test_a_former_join_point_goes_on_while_a_tree_does_not_know_of_the_present_one() -> None:
    """The link to B2 is cut, so that the subscription of B1 does not reach it. Q counts as publishing once a second."""
    overlay = overlay_of("dcsr")
    compose(overlay)
    publish(overlay, "Q", "q0")
    for number in range(40):
        publish(overlay, "P", f"p{number}")
    overlay.cut("B4", "B2")
    pass_time(overlay, 10)
    pass_time(overlay, 0)
    pass_time(overlay, 10 * (WITHIN + LATENESS))
    pass_time(overlay, 0)
    assert joined(overlay)[:2] == [("B4", None), ("B1", "B4")]
    assert "B4" in detecting(overlay)
    overlay.join("B4", "B2")
    overlay.settle()
    overlay.detected.clear()
    publish(overlay, "Q", "q1")
    publish(overlay, "P", "p")
    assert overlay.detected == {"S": [("c", ("q1", "p"))]}
    for _ in range(3):
        pass_time(overlay, WITHIN + LATENESS)
    assert detecting(overlay) == [joined(overlay)[-1][0]]


def test_rates_that_change_move_the_join_point_back() -> None:
    overlay = moved()
    pass_time(overlay, WITHIN + LATENESS)
    for round in range(12):
        for number in range(40):
            publish(overlay, "Q", f"q{round}-{number}")
        pass_time(overlay, 10)
    places = [node for node, _ in joined(overlay)]
    assert places[:2] == ["B4", "B1"]
    assert places[-1] in {"B4", "B2"}
    pass_time(overlay, WITHIN + LATENESS)
    assert detecting(overlay) == places[-1:]
    overlay.detected.clear()
    publish(overlay, "Q", "q")
    publish(overlay, "P", "p")
    assert ("c", ("q", "p")) in overlay.detected["S"]
    assert len(set(overlay.detected["S"])) == len(overlay.detected["S"])


def test_a_set_that_the_present_join_point_detects_much_later_comes_once() -> None:
    """Publications from B2 wait on their way to B1 for longer than the window and the lateness, and B4 goes on."""
    overlay = overlay_of("dcsr")
    compose(overlay)
    overlay.attach("R", "B2")
    overlay.advertise("R", "a", [kind("A")])
    publish(overlay, "Q", "q")
    for number in range(40):
        publish(overlay, "P", f"p{number}")
    overlay.held = {("B2", "B4")}
    pass_time(overlay, 10)
    pass_time(overlay, 0)
    assert joined(overlay)[:2] == [("B4", None), ("B1", "B4")]
    overlay.held = {("B4", "B3")}
    for number in range(5):
        overlay.publish("R", f"r{number}", {"class": "A"})
        overlay.publish("Q", f"q{number}", {"class": "B"})
        overlay.settle()
        overlay.time += (WITHIN + LATENESS) * SECOND
    wanted = {("c", (f"r{number}", f"q{number}")) for number in range(5)}
    assert wanted <= set(overlay.detected["S"])
    overlay.held = set()
    overlay.settle()
    at = [record.node for record in overlay.records(Event.DETECTED) if record.publications == ["r0", "q0"]]
    assert sorted(at) == ["B1", "B4"]
    assert len(set(overlay.detected["S"])) == len(overlay.detected["S"])


def test_nothing_is_left_of_a_unit_that_is_withdrawn_while_it_moves() -> None:
    overlay = overlay_of("dcsr")
    before = {name: broker.tables() for name, broker in overlay.brokers.items()}
    compose(overlay)
    for number in range(20):
        publish(overlay, "P", f"p{number}")
    overlay.held.add(("B4", "B3"))
    pass_time(overlay, 10)
    pass_time(overlay, 0)
    assert detecting(overlay) == ["B4"]
    assert len(overlay.records(Event.MOVED)) == 1
    overlay.request("S", Operation.UNSUBSCRIBE, "c")
    overlay.settle()
    assert detecting(overlay) == []
    overlay.held.clear()
    overlay.settle()
    assert {name: broker.tables() for name, broker in overlay.brokers.items()} == before
    assert {key for _, key in overlay.timers if "Overlap" in repr(key)} == set()


def test_a_unit_without_advertisement_goes_on_when_there_is_one() -> None:
    overlay = CoreOverlay(TREE, options={"composites": "topology"})
    overlay.attach("S", "B6")
    compose(overlay)
    assert detecting(overlay) == ["B6"]
    for client, broker, name in (("P", "B1", "A"), ("Q", "B2", "B")):
        overlay.attach(client, broker)
        overlay.advertise(client, "a", [Predicate("class", Operator.STRING_EQUAL, name)])
    overlay.settle()
    pass_time(overlay, 10)
    assert joined(overlay) == [("B6", None), ("B4", "B6")]


def test_units_stay_where_the_interval_is_zero() -> None:
    overlay = overlay_of("dcsr", placement_interval=0)
    overlay.compose("S", "c", PATTERN)
    overlay.settle()
    for number in range(20):
        publish(overlay, "P", f"p{number}")
    pass_time(overlay, 10)
    pass_time(overlay, 10)
    assert (detecting(overlay), with_units(overlay)) == (["B4"], ["B4", "B5", "B6"])


@settings(unhurried, max_examples=8)
@given(st.lists(st.integers(0, 5), min_size=2, max_size=2), st.lists(st.integers(0, 5), min_size=2, max_size=2))
def test_moves_stop_while_rates_stay_and_each_promises_to_save_costs(first: list[int], then: list[int]) -> None:
    """P and Q publish as many times in each interval, before and after a change."""
    overlay = overlay_of("dcsr")
    compose(overlay)
    for counts in (first, then):
        for interval in range(11):
            if interval == 8:
                moves = len(overlay.records(Event.MOVED))
            for client, count in zip("PQ", counts, strict=True):
                for number in range(count):
                    overlay.publish(client, f"{client}{overlay.time}.{number}", {"class": {"P": "A", "Q": "B"}[client]})
            overlay.settle()
            pass_time(overlay, 10)
        assert len(overlay.records(Event.MOVED)) == moves
    for move in overlay.records(Event.MOVED):
        assert move.placement is not None and move.peer is not None
        costs = {place.broker: place.cost or 0.0 for place in move.placement.costs}
        assert costs[move.peer] < 0.9 * costs[move.node]


@pytest.mark.parametrize("broker", ["B4", "B3", "B1"])
def test_a_unit_whose_brokers_fail_after_a_move_is_detected_again(broker: str) -> None:
    overlay = moved()
    overlay.kill(broker)
    overlay.settle()
    overlay.restart(broker)
    overlay.settle()
    pass_time(overlay, 5)
    if broker == "B1":
        overlay.attach("P", "B1")
        overlay.advertise("P", "a", [Predicate("class", Operator.STRING_EQUAL, "A")])
        overlay.settle()
    overlay.detected.clear()
    publish(overlay, "Q", "q1")
    publish(overlay, "P", "p")
    assert overlay.detected == {"S": [("c", ("q1", "p"))]}
