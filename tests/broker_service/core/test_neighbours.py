"""The broker core and its neighbours: actions on links, and links that appear and vanish."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from broker_service.config import BrokerConfig, LinkConfig
from broker_service.core.broker import Broker
from broker_service.messages import Kind, Message
from broker_service.routing.interface import Recall, Send
from record.errors import BrokerDefectError
from record.log import Event
from record.time_units import SECOND
from tests.broker_service.manual_timers import ManualTimers
from tests.broker_service.obedient import OBEDIENT, ObedientRouter, registered
from tests.broker_service.overlay import ListTrace


def link_to(neighbour: str, appearance: int = 1) -> LinkConfig:
    return LinkConfig(
        neighbour=neighbour, local="", remote="", dial=True, attributes={"level": 3}, appearance=appearance
    )


def control(id: str) -> Message:
    return Message(Kind.CONTROL, id)


class OneBroker:
    """The broker B1 with the neighbour B2, to which its link is up."""

    def __init__(self, routers: dict[str, ObedientRouter], protocol: str = OBEDIENT) -> None:
        self.now = 5 * SECOND
        self.trace = ListTrace("B1")
        config = BrokerConfig(id="B1", incarnation=1, protocol=protocol, links=(link_to("B2"),))
        self.broker = Broker(config, lambda: self.now, self.trace, ManualTimers().schedule)
        if protocol == OBEDIENT:
            self.router = routers["B1"]
        self.broker.neighbours.link_up("B2", 1, 0)

    def taken(self, neighbour: str = "B2") -> list[str]:
        return [message.id for message in self.broker.links[neighbour].take()]


@pytest.fixture
def one() -> Iterator[OneBroker]:
    with registered() as routers:
        yield OneBroker(routers)


def test_a_router_reads_the_time_since_its_broker_started(one: OneBroker) -> None:
    one.now += 3 * SECOND // 2
    assert one.router.context.now() == 1.5


def test_a_message_ahead_overtakes_those_that_wait(one: OneBroker) -> None:
    one.router.answers["receive"] = lambda: [
        Send("B2", control("late")),
        Send("B2", control("first"), ahead=True),
        Send("B2", control("second"), ahead=True),
    ]
    one.broker.neighbours.receive("B2", [control("x")])
    assert one.taken() == ["first", "second", "late"]


def test_a_label_is_logged_at_both_ends_and_stays_with_a_message_that_is_passed_on(one: OneBroker) -> None:
    one.router.answers["receive"] = lambda: [
        Send("B2", control("y"), label="nack"),
        Send("B2", one.router.messages[-1]),
    ]
    one.broker.neighbours.receive("B2", [Message(Kind.CONTROL, "x", label="change")])
    assert [(message.id, message.label) for message in one.broker.links["B2"].take()] == [
        ("y", "nack"),
        ("x", "change"),
    ]
    labels = [(record.event, record.id, record.label) for record in one.trace.records if record.kind == "control"]
    assert labels == [
        (Event.RECEIVED, "x", "change"),
        (Event.SENT, "y", "nack"),
        (Event.SENT, "x", "change"),
    ]


def test_what_is_recalled_is_returned_before_the_next_action(one: OneBroker) -> None:
    one.router.answers["link_down"] = lambda: [Recall("B2"), Send("B2", control("after"))]
    one.router.answers["returned"] = lambda: [Send("B2", control("instead"))]
    one.router.answers["receive"] = lambda: [Send("B2", control("a")), Send("B2", control("b"))]
    one.broker.neighbours.receive("B2", [control("x")])
    assert one.taken() == ["a", "b"]
    one.broker.neighbours.link_down("B2")
    assert [message.id for message in one.router.messages] == ["x", "a", "b"]
    one.broker.neighbours.link_up("B2", 1, 1)
    assert one.taken() == ["instead", "after"]


def test_nothing_is_returned_where_nothing_waits(one: OneBroker) -> None:
    one.router.answers["receive"] = lambda: [Recall("B2")]
    one.broker.neighbours.receive("B2", [control("x")])
    assert one.router.calls == [("link_up", "B2"), ("receive", "x")]


def test_a_neighbour_appears_and_vanishes_while_the_router_watches(one: OneBroker) -> None:
    context = one.router.context
    one.broker.neighbours.add(link_to("B3"))
    assert list(context.links) == ["B2", "B3"]
    assert (context.links["B3"].up, context.links["B3"].attributes) == (False, {"level": 3})
    one.broker.neighbours.link_up("B3", 1, 0)
    one.broker.neighbours.link_down("B3")
    one.broker.neighbours.remove("B3")
    assert list(context.links) == ["B2"]
    assert one.router.calls[1:] == [
        ("neighbour_added", "B3"),
        ("link_up", "B3"),
        ("link_down", "B3"),
        ("neighbour_removed", "B3"),
    ]
    changes = [record for record in one.trace.records if record.event in (Event.LINK_ADDED, Event.LINK_REMOVED)]
    assert [(record.event, record.peer, record.count) for record in changes] == [
        (Event.LINK_ADDED, "B3", 1),
        (Event.LINK_REMOVED, "B3", 1),
    ]


def test_what_a_vanished_link_held_is_dropped_and_the_next_one_begins_anew(one: OneBroker) -> None:
    one.router.answers["receive"] = lambda: [Send("B2", control(f"{len(one.router.calls)}")) for _ in range(2)]
    one.broker.neighbours.receive("B2", [control("x")])
    one.taken()
    one.broker.neighbours.receive("B2", [control("x")])
    one.broker.neighbours.link_down("B2")
    one.broker.neighbours.remove("B2")
    assert {record.text for record in one.trace.of(Event.DROPPED)} == {"link vanished"}
    assert len(one.trace.of(Event.DROPPED)) == 4
    link = one.broker.neighbours.add(link_to("B2", appearance=2))
    assert (link.sent, link.received, link.neighbour_incarnation, link.appearance) == (0, 0, 0, 2)
    one.broker.neighbours.link_up("B2", 1, 0)
    assert one.taken() == []


def test_links_are_added_and_removed_once(one: OneBroker) -> None:
    with pytest.raises(ValueError, match="B1 and B2 are linked already"):
        one.broker.neighbours.add(link_to("B2"))
    with pytest.raises(ValueError, match="B1 and B1 are linked already"):
        one.broker.neighbours.add(link_to("B1"))
    with pytest.raises(ValueError, match="B1 and B3 are not linked"):
        one.broker.neighbours.remove("B3")


def test_a_message_for_a_broker_that_is_no_neighbour_is_a_defect(one: OneBroker) -> None:
    one.router.answers["neighbour_removed"] = lambda: [Send("B2", control("late"))]
    with pytest.raises(BrokerDefectError, match="the disappearance of the neighbour B2"):
        one.broker.neighbours.remove("B2")


@pytest.mark.parametrize("protocol", ["tid"])
def test_a_protocol_that_does_not_bear_other_neighbours_keeps_its_own(protocol: str) -> None:
    one = OneBroker({}, protocol)
    with pytest.raises(ValueError, match=f"a broker that routes by {protocol} do not change"):
        one.broker.neighbours.add(link_to("B3"))
    with pytest.raises(ValueError, match=f"a broker that routes by {protocol} do not change"):
        one.broker.neighbours.remove("B2")
    assert list(one.broker.links) == ["B2"]
