"""Sub-units over overlays of broker cores: their places, what they send, and their ends."""

from __future__ import annotations

import msgspec
import pytest

from broker_service.language import Operator, Predicate, Publication
from broker_service.language.composite_subscription import CompositeSubscription
from broker_service.language.composite_wire import encode_composite
from broker_service.language.content import encode_publication
from broker_service.language.notation import parse_composite
from broker_service.messages import Kind, Message, Operation
from broker_service.routing.common.decoding import encode_header
from broker_service.routing.common.identifiers import Home
from broker_service.routing.tid.placement.messages import ComposeHeader, ContributionHeader, DetectionHeader
from record.log import Event
from record.time_units import SECOND
from tests.broker_service.overlay import CoreOverlay

TREE = [("B6", "B5"), ("B5", "B4"), ("B4", "B3"), ("B3", "B1"), ("B3", "B2"), ("B4", "B7")]
"""S subscribes at B6. P and Q publish beyond B3, at B1 and B2, and R publishes at B7."""
PUBLISHERS = {"P": ("B1", "A"), "Q": ("B2", "B"), "R": ("B7", "C")}
PATTERN = "{[class,eq,'A']}&{[class,eq,'B']}&{[class,eq,'C']}"


def overlay_of(composites: str = "dcsr", **options: object) -> CoreOverlay:
    overlay = CoreOverlay(TREE, options={"composites": composites, **options})
    for client, (broker, name) in PUBLISHERS.items():
        overlay.attach(client, broker)
        kind = Predicate("class", Operator.STRING_EQUAL, name)
        overlay.advertise(client, "a", [kind, Predicate("n", Operator.GREATER_OR_EQUAL, 0)])
    overlay.attach("S", "B6")
    overlay.settle()
    return overlay


def composed(pattern: str = PATTERN, *, composites: str = "dcsr", within: int | None = None) -> CoreOverlay:
    overlay = overlay_of(composites)
    overlay.compose("S", "c", pattern, within)
    overlay.settle()
    return overlay


def publish(overlay: CoreOverlay, client: str, id: str, n: int = 0, published: int = 0) -> None:
    overlay.publish(client, id, {"class": PUBLISHERS[client][1], "n": n}, published)
    overlay.settle()


def joined(overlay: CoreOverlay) -> list[tuple[str, bool]]:
    """Join points in order of time; True for those of sub-units."""
    records = sorted(overlay.records(Event.JOINED), key=lambda record: record.time)
    return [(record.node, "/" in record.placement.unit) for record in records if record.placement]


def received(overlay: CoreOverlay, broker: str) -> list[str | None]:
    """Kinds of the publications and detections that a broker received."""
    kinds = [record.kind for record in overlay.traces[broker].of(Event.RECEIVED)]
    return [kind for kind in kinds if kind in ("publish", "detection")]


def test_operands_with_one_destination_are_detected_there_together() -> None:
    overlay = composed()
    assert joined(overlay) == [("B4", False), ("B3", True)]
    publish(overlay, "P", "p1")
    assert received(overlay, "B4") == []
    publish(overlay, "Q", "q1")
    assert received(overlay, "B4") == ["detection"]
    publish(overlay, "R", "r1")
    assert overlay.detected == {"S": [("c", ("p1", "q1", "r1"))]}


def test_topology_based_routing_routes_each_part_separately() -> None:
    overlay = composed(composites="topology")
    assert joined(overlay) == [("B4", False)]
    publish(overlay, "P", "p1")
    assert received(overlay, "B4") == ["publish"]


def test_a_sub_unit_passes_on_each_publication_once() -> None:
    overlay = composed()
    for id in ("p1", "p2", "p3"):
        publish(overlay, "P", id)
    for id in ("q1", "q2"):
        publish(overlay, "Q", id)
    assert len(received(overlay, "B4")) == 4  # {p1, q1}, {p2}, {p3} and {q2}, which completes three sets
    publish(overlay, "R", "r1")
    sets = {frozenset(ids) for _, ids in overlay.detected["S"]}
    assert sets == {frozenset((p, q, "r1")) for p in ("p1", "p2", "p3") for q in ("q1", "q2")}
    assert len(overlay.detected["S"]) == 6


def test_windows_and_variables_are_judged_over_the_whole() -> None:
    same = "{[class,eq,'A'],[n,=,$I$X]}&{[class,eq,'B'],[n,=,$I$Y]}&{[class,eq,'C'],[n,=,$I$X]}"
    overlay = composed(same, within=100)
    assert joined(overlay) == [("B4", False), ("B3", True)]
    publish(overlay, "P", "p1", 1, published=1000)
    publish(overlay, "P", "p2", 2, published=1050)
    publish(overlay, "Q", "q1", 0, published=1100)
    publish(overlay, "R", "r1", 1, published=1101)
    publish(overlay, "R", "r2", 2, published=1102)
    publish(overlay, "R", "r3", 1, published=1100)
    assert sorted(ids for _, ids in overlay.detected["S"]) == [("p1", "q1", "r3"), ("p2", "q1", "r2")]


def test_a_test_of_a_variable_that_another_operand_binds_keeps_its_part_out() -> None:
    tested = "{[class,eq,'A']}&{[class,eq,'B'],[n,>,$I$X]}&{[class,eq,'C'],[n,=,$I$X]}"
    overlay = composed(tested)
    assert joined(overlay) == [("B4", False)]
    publish(overlay, "P", "p")
    publish(overlay, "Q", "q1", 1)
    publish(overlay, "Q", "q5", 5)
    publish(overlay, "R", "r", 3)
    assert overlay.detected == {"S": [("c", ("p", "q5", "r"))]}


@pytest.mark.parametrize("withdrawn", [True, False])
def test_nothing_is_left_of_sub_units(withdrawn: bool) -> None:
    overlay = overlay_of()
    before = {name: broker.tables() for name, broker in overlay.brokers.items()}
    overlay.compose("S", "c", PATTERN)
    overlay.settle()
    publish(overlay, "P", "p1")
    if withdrawn:
        overlay.request("S", Operation.UNSUBSCRIBE, "c")
    else:
        overlay.request("S", Operation.DETACH)
    overlay.settle()
    assert {name: broker.tables() for name, broker in overlay.brokers.items()} == before


def test_the_table_and_the_log_name_sub_units() -> None:
    overlay = composed()
    units = overlay.brokers["B4"].tables()["composite_units"]
    assert isinstance(units, dict)
    whole, part = units
    assert part == f"{whole}/1.0.1"
    assert units[whole][-1] == f"parts 1, 2 -> B3 together, as {part}"
    assert units[part][0].startswith("(1 & 2) -> B3: common destination of its operands")
    publish(overlay, "P", "p1")
    publish(overlay, "Q", "q1")
    (detected,) = overlay.records(Event.DETECTED)
    assert (detected.node, detected.id, detected.text, detected.publications) == ("B3", "c", part, ["p1", "q1"])


def pass_time(overlay: CoreOverlay, seconds: float) -> None:
    overlay.time += round(seconds * SECOND)
    overlay.fire_timers()
    overlay.settle()


def test_a_sub_unit_moves_to_its_faster_publisher_and_each_set_comes_once() -> None:
    overlay = composed()
    publish(overlay, "Q", "q0")
    publish(overlay, "R", "r0")
    for number in range(20):
        publish(overlay, "P", f"p{number}")
    pass_time(overlay, 10)
    pass_time(overlay, 0)
    assert ("B1", True) in joined(overlay)
    for _ in range(10):
        pass_time(overlay, 30)
    publish(overlay, "Q", "q1")
    publish(overlay, "R", "r1")
    publish(overlay, "P", "p")
    sets = [ids for _, ids in overlay.detected["S"]]
    assert len(sets) == len({frozenset(ids) for ids in sets})
    assert {"p", "q1", "r1"} in map(set, sets)


@pytest.mark.parametrize("broker", ["B5", "B4", "B3"])
def test_a_unit_whose_brokers_fail_is_detected_again_with_its_sub_units(broker: str) -> None:
    overlay = composed()
    publish(overlay, "P", "p0")
    overlay.kill(broker)
    overlay.settle()
    overlay.restart(broker)
    overlay.settle()
    pass_time(overlay, 5)
    overlay.detected.clear()
    publish(overlay, "P", "p")
    publish(overlay, "Q", "q")
    publish(overlay, "R", "r")
    assert overlay.detected == {"S": [("c", ("p", "q", "r"))]}


def test_a_part_of_a_sub_unit_and_of_others_comes_alone_too() -> None:
    """`A & B` is detected at B3; B4 needs A besides, for `A & C`."""
    overlay = composed("({[class,eq,'A']}&{[class,eq,'B']})||({[class,eq,'A']}&{[class,eq,'C']})")
    assert joined(overlay) == [("B4", False), ("B3", True)]
    publish(overlay, "P", "p")
    publish(overlay, "R", "r")
    publish(overlay, "Q", "q")
    assert sorted(ids for _, ids in overlay.detected["S"]) == [("p", "q"), ("p", "r")]


def test_a_former_join_point_waits_for_sub_units() -> None:
    """P and R publish fast, so the unit moves to B7 and has its new sub-unit joined at B1.

    No publication of Q goes to B1 before B2 knows the subscription of B1, which is held at B3. By then B7 has had all
    answers to questions of its own, because the one to B2 came before that subscription.
    """
    overlay = composed()
    publish(overlay, "Q", "q0")
    for number in range(20):
        publish(overlay, "P", f"p{number}")
        publish(overlay, "R", f"r{number}")
    overlay.held.add(("B1", "B3"))
    pass_time(overlay, 10)
    pass_time(overlay, 0)
    assert {("B7", False), ("B1", True)} <= set(joined(overlay))
    overlay.held = {("B3", "B2")}
    overlay.settle()
    for _ in range(3):
        pass_time(overlay, 90)
    assert "composite_subscriptions" in overlay.brokers["B4"].tables()
    overlay.held.clear()
    overlay.settle()
    for _ in range(3):
        pass_time(overlay, 90)
    assert "composite_subscriptions" not in overlay.brokers["B4"].tables()


CONTENT = encode_publication(Publication({"class": "A", "n": 1}))


@pytest.mark.parametrize(
    ("bodies", "header"),
    [
        ([CONTENT], DetectionHeader(1, ("p",))),
        ([CONTENT], ContributionHeader(1, ("p",), ())),
        ([], ContributionHeader(1, (), ())),
        ([b"\xff"], ContributionHeader(1, ("p",), (1,))),
    ],
)
def test_a_contribution_that_cannot_be_read_ends_at_the_home(bodies: list[bytes], header: DetectionHeader) -> None:
    overlay = composed()
    home = overlay.brokers["B4"]
    _, part = home.tables()["composite_units"]  # type: ignore[misc]
    home.neighbours.receive(
        "B3", [Message(Kind.DETECTION, part, msgspec.msgpack.encode(bodies), encode_header(header))]
    )
    assert (home.dropped, "partial_matches" in home.tables()) == (1, False)


def test_a_sub_unit_does_not_come_to_its_own_home() -> None:
    """A neighbour that claims so is malicious, and does not replace the sub-unit."""
    overlay = composed()
    home = overlay.brokers["B4"]
    before = home.tables()
    _, part = before["composite_units"]  # type: ignore[misc]
    body = encode_composite(CompositeSubscription(parse_composite("{[class,eq,'A']}&{[class,eq,'B']}"), 10))
    header = ComposeHeader("S", "c", 9, 0, None, (Home("B3", 1),), ((), ()))
    home.neighbours.receive("B3", [Message(Kind.COMPOSE, part, body, encode_header(header))])
    assert home.dropped == 1
    assert home.tables() == before
