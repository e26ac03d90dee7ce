"""Units over overlays of broker cores: their paths, their withdrawal, and messages that no correct neighbour sends."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from analysis.reading.detections import detection_loss
from broker_service.language import Operator, Predicate
from broker_service.language.composite_subscription import CompositeSubscription
from broker_service.language.composite_wire import encode_composite
from broker_service.language.notation import parse_composite
from broker_service.messages import Kind, Message, Operation
from broker_service.routing.common.decoding import encode_header
from broker_service.routing.common.identifiers import Home
from broker_service.routing.tid.placement.messages import ComposeHeader, DetectionHeader, UnitPlaced, UnitWithdrawn
from record.log import Event
from record.time_units import SECOND
from tests.broker_service.overlay import CoreOverlay

PATTERN = "{[class,eq,'A']}&{[class,eq,'B']}"
TREE = [("B6", "B5"), ("B5", "B4"), ("B4", "B3"), ("B3", "B1"), ("B4", "B2")]
"""Section 4.4 of the paper without its detours: P publishes at B1, Q at B2, S subscribes at B6."""


def kind(name: str) -> Predicate:
    return Predicate("class", Operator.STRING_EQUAL, name)


def overlay_of(composites: str, **options: object) -> CoreOverlay:
    overlay = CoreOverlay(TREE, options={"composites": composites, **options})
    for client, broker, name in (("P", "B1", "A"), ("Q", "B2", "B")):
        overlay.attach(client, broker)
        overlay.advertise(client, "a", [kind(name)])
    overlay.attach("S", "B6")
    overlay.settle()
    return overlay


def compose(overlay: CoreOverlay) -> None:
    overlay.compose("S", "c", PATTERN)
    overlay.settle()


def publish(overlay: CoreOverlay, client: str, id: str) -> None:
    overlay.publish(client, id, {"class": {"P": "A", "Q": "B"}[client]})
    overlay.settle()


def with_units(overlay: CoreOverlay) -> list[str]:
    return [name for name, broker in sorted(overlay.brokers.items()) if "composite_units" in broker.tables()]


def detecting(overlay: CoreOverlay) -> list[str]:
    return [name for name, broker in sorted(overlay.brokers.items()) if "composite_subscriptions" in broker.tables()]


def first_lines(tables: Mapping[str, object]) -> list[str]:
    units = tables["composite_units"]
    assert isinstance(units, dict)
    return [lines[0] for lines in units.values()]


@pytest.mark.parametrize("composites", ["topology", "dcsr"])
def test_a_unit_is_split_where_sources_of_equal_rates_part(composites: str) -> None:
    overlay = overlay_of(composites)
    compose(overlay)
    assert (with_units(overlay), detecting(overlay)) == (["B4", "B5", "B6"], ["B4"])
    publish(overlay, "P", "p1")
    publish(overlay, "Q", "q1")
    assert overlay.detected == {"S": [("c", ("p1", "q1"))]}
    (detected,) = overlay.traces["B4"].of(Event.DETECTED)
    assert (detected.id, detected.client, detected.publications) == ("c", "S", ["p1", "q1"])
    (delivered,) = overlay.traces["B6"].of(Event.DELIVERED)
    assert (delivered.kind, delivered.id, delivered.client) == ("detection", "c", "S")


def test_the_join_point_logs_when_it_begins_and_ends() -> None:
    overlay = overlay_of("dcsr")
    compose(overlay)
    (unit,) = overlay.brokers["B4"].tables()["composite_units"]  # type: ignore[misc]
    overlay.request("S", Operation.UNSUBSCRIBE, "c")
    overlay.settle()
    (joined,), (left,) = overlay.records(Event.JOINED), overlay.records(Event.LEFT)
    for record in (joined, left):
        assert (record.node, record.kind, record.id, record.client) == ("B4", "compose", "c", "S")
    assert (joined.text, left.text) == ("least total routing cost", "withdrawn")
    decided = joined.placement
    assert decided is not None and decided == left.placement
    assert (decided.unit, decided.epoch, decided.matches, decided.parts) == (unit, 1, 1.0, (1.0, 1.0))
    assert decided.path == ("B6", "B5", "B4")
    costs = {place.broker: place.cost for place in decided.costs}
    assert costs.keys() == {"B2", "B3", "B4"}
    assert min(costs.values(), key=lambda cost: cost or 0.0) == costs["B4"]


def test_no_publication_passes_the_join_point() -> None:
    overlay = overlay_of("topology")
    compose(overlay)
    publish(overlay, "P", "p1")
    publish(overlay, "Q", "q1")
    assert [record.kind for record in overlay.traces["B5"].of(Event.RECEIVED)][-1:] == ["detection"]
    assert not [record for record in overlay.traces["B5"].of(Event.RECEIVED) if record.kind == "publish"]


def test_the_table_shows_why_a_unit_went_where_it_did() -> None:
    overlay = overlay_of("topology")
    compose(overlay)
    assert first_lines(overlay.brokers["B6"].tables()) == [
        "(1 & 2) -> B5: common destination of its operands, 1 matches a second"
    ]
    assert first_lines(overlay.brokers["B4"].tables()) == [
        "(1 & 2) -> here: first broker at which the operands' sources lie in different directions, 1 matches a second"
    ]


@pytest.mark.parametrize(("composites", "asked"), [("topology", False), ("dcsr", True)])
def test_only_a_comparison_of_costs_asks_for_statistics(composites: str, asked: bool) -> None:
    overlay = overlay_of(composites)
    compose(overlay)
    assert any(record.label == "statistics" for record in overlay.traces["B5"].of(Event.RECEIVED)) == asked


def test_a_faster_publisher_attracts_a_later_unit() -> None:
    """The first unit is placed by guesses, and makes the publishers' brokers measure."""
    overlay = overlay_of("dcsr")
    compose(overlay)
    for number in range(20):
        publish(overlay, "P", f"p{number}")
    publish(overlay, "Q", "q")
    overlay.time += 5 * SECOND
    overlay.fire_timers()
    overlay.settle()
    overlay.compose("S", "later", PATTERN)
    overlay.settle()
    assert detecting(overlay) == ["B1", "B4"]


def test_nothing_is_left_of_a_unit_that_is_withdrawn() -> None:
    overlay = overlay_of("dcsr")
    before = {name: broker.tables() for name, broker in overlay.brokers.items()}
    compose(overlay)
    overlay.request("S", Operation.UNSUBSCRIBE, "c")
    overlay.settle()
    assert {name: broker.tables() for name, broker in overlay.brokers.items()} == before
    publish(overlay, "P", "p1")
    publish(overlay, "Q", "q1")
    assert overlay.detected == {}


UNIT = "B6.1.9"
BODY = encode_composite(CompositeSubscription(parse_composite(PATTERN), 10))


def unit(
    path: tuple[Home, ...] = (Home("B6", 1),), parts: int = 2, body: bytes = BODY, id: str = UNIT
) -> tuple[Kind, str, bytes, bytes]:
    return Kind.COMPOSE, id, body, encode_header(ComposeHeader("S", "c", 1, 0, None, path, ((),) * parts))


@pytest.mark.parametrize(
    "message",
    [
        unit(path=()),
        unit(path=(Home("B6", 2),)),
        unit(path=(Home("B6", 1), Home("B9", 1))),
        unit(path=(Home("B6", 1), Home("B5", 1), Home("B6", 1))),
        unit(parts=1),
        unit(body=b"\xff"),
        unit(body=encode_composite(CompositeSubscription(parse_composite(PATTERN)))),
        unit(id="B6"),
        (Kind.COMPOSE, UNIT, BODY, b""),
        (Kind.DETECTION, UNIT, b"", b""),
    ],
)
def test_nonsense_is_dropped_and_nothing_kept(message: tuple[Kind, str, bytes, bytes]) -> None:
    overlay = overlay_of("dcsr")
    broker = overlay.brokers["B5"]
    before = broker.tables()
    broker.neighbours.receive("B6", [Message(*message)])
    assert broker.dropped == 1
    assert broker.tables() == before


@pytest.mark.parametrize(
    ("sender", "kind", "header"),
    [
        ("B6", Kind.CONTROL, UnitWithdrawn(UNIT, 1)),
        ("B6", Kind.CONTROL, UnitPlaced(UNIT, 1, 0, ())),
        ("B6", Kind.DETECTION, DetectionHeader(1, ("p",))),
    ],
)
def test_messages_of_a_unit_that_is_not_known_are_ignored(sender: str, kind: Kind, header: object) -> None:
    """They were in flight when it ended."""
    overlay = overlay_of("dcsr")
    broker = overlay.brokers["B5"]
    broker.neighbours.receive(sender, [Message(kind, UNIT, b"", encode_header(header))])
    assert broker.dropped == 0


@pytest.mark.parametrize("bodies", [b"\xff", b"\x90", b"\x92\xc4\x00\xc4\x00"])
def test_a_detection_whose_contents_cannot_be_read_ends_at_the_home(bodies: bytes) -> None:
    overlay = overlay_of("dcsr")
    compose(overlay)
    home = overlay.brokers["B6"]
    (id,) = home.tables()["composite_units"]  # type: ignore[misc]
    home.neighbours.receive("B5", [Message(Kind.DETECTION, id, bodies, encode_header(DetectionHeader(1, ("p",))))])
    assert home.dropped == 1
    assert overlay.detected == {}


@pytest.mark.parametrize(
    ("broker", "sender", "epoch", "reason"),
    [
        ("B6", "B5", 2, "made in epoch 2 of the unit, which is in epoch 1"),
        ("B5", "B6", 1, "sent by B6, which is off the path of the unit"),
    ],
)
def test_a_detection_by_another_path_than_the_units_is_recorded(
    broker: str, sender: str, epoch: int, reason: str
) -> None:
    overlay = overlay_of("dcsr")
    compose(overlay)
    receiving = overlay.brokers[broker]
    (id,) = receiving.tables()["composite_units"]  # type: ignore[misc]
    header = encode_header(DetectionHeader(epoch, ("p", "q")))
    receiving.neighbours.receive(sender, [Message(Kind.DETECTION, id, b"", header)])
    (dropped,) = overlay.traces[broker].of(Event.DROPPED)
    assert (dropped.id, dropped.client, dropped.text) == ("q", "S", f"{reason}: composite c")
    assert detection_loss(0, dropped) is not None  # the judge reads it as a loss of this composite subscription
    assert overlay.detected == {}


@pytest.mark.parametrize(("sender", "epoch"), [("B3", 1), ("B5", 2)])
def test_a_unit_ends_only_by_the_neighbour_that_it_came_from_and_in_its_epoch(sender: str, epoch: int) -> None:
    overlay = overlay_of("topology")
    compose(overlay)
    join = overlay.brokers["B4"]
    (id,) = join.tables()["composite_units"]  # type: ignore[misc]
    join.neighbours.receive(sender, [Message(Kind.CONTROL, id, b"", encode_header(UnitWithdrawn(id, epoch)))])
    assert detecting(overlay) == ["B4"]
