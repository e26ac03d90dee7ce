"""TID routing where brokers die, return and miss what was withdrawn: trees end everywhere, or grow round the gap."""

from __future__ import annotations

from broker_service.messages import Kind, Message, Operation
from broker_service.routing.common.decoding import encode_header
from broker_service.routing.common.reconciliation import Reconcile
from broker_service.routing.tid.messages import AdvertiseHeader, Restarted, decode_advertise
from record.log import Event
from tests.broker_service.overlay import CoreOverlay
from tests.broker_service.routing.stocks import above, quote
from tests.broker_service.routing.tid.tid_overlays import EMPTY, advertise_over


def _line_of_four(subscriber: str = "B4") -> CoreOverlay:
    """A publisher at B1, a subscriber behind."""
    overlay = CoreOverlay([("B1", "B2"), ("B2", "B3"), ("B3", "B4")])
    overlay.attach("P", "B1")
    overlay.attach("S", subscriber)
    overlay.advertise("P", "a", above(0))
    overlay.subscribe("S", "s", above(0))
    overlay.settle()
    return overlay


def _subscriptions_at_b4(overlay: CoreOverlay) -> list[str]:
    table = overlay.brokers["B4"].tables()["subscription_routing_table"]
    assert isinstance(table, dict)
    return list(table)


def test_what_was_withdrawn_while_a_broker_was_dead_is_forgotten_behind_it() -> None:
    overlay = _line_of_four()
    overlay.kill("B2")
    overlay.request("P", Operation.UNADVERTISE, "a")
    overlay.settle()
    overlay.restart("B2")
    overlay.settle()
    assert overlay.brokers["B4"].tables() != EMPTY
    overlay.fire_timers()
    overlay.settle()
    overlay.request("S", Operation.UNSUBSCRIBE, "s")
    assert {name: broker.tables() for name, broker in overlay.brokers.items()} == dict.fromkeys(overlay.names, EMPTY)


def test_news_of_a_restart_that_died_with_a_broker_reach_those_behind_it() -> None:
    overlay = _line_of_four()
    overlay.kill("B1")
    overlay.kill("B2")
    overlay.restart("B1")
    overlay.settle()
    overlay.restart("B2")
    overlay.settle()
    assert overlay.brokers["B4"].tables()["subscription_routing_table"] == {}


def test_a_tree_given_up_too_early_comes_back() -> None:
    overlay = _line_of_four()
    overlay.kill("B2")
    overlay.cut("B1", "B2")
    overlay.restart("B2")
    overlay.settle()
    overlay.fire_timers()
    overlay.settle()
    assert overlay.brokers["B4"].tables()["subscription_routing_table"] == {}
    overlay.join("B1", "B2")
    overlay.settle()
    overlay.publish("P", "P:1", quote(5))
    overlay.settle()
    assert overlay.notified["S"] == ["P:1"]


def test_nothing_is_given_up_while_the_link_to_the_restarted_neighbour_is_down() -> None:
    overlay = _line_of_four()
    overlay.kill("B2")
    overlay.cut("B1", "B2")
    overlay.restart("B2")
    overlay.settle()
    overlay.cut("B2", "B3")
    overlay.fire_timers()
    overlay.settle()
    assert _subscriptions_at_b4(overlay) == ["B1.1.1"]
    overlay.join("B2", "B3")
    assert ("B3", Reconcile("B2")) in overlay.timers
    overlay.fire_timers()
    overlay.settle()
    assert overlay.brokers["B4"].tables()["subscription_routing_table"] == {}


def _ring(subscriber: str = "B4") -> CoreOverlay:
    """A publisher at B1 of a ring of four, whose tree leads to B4 over B3."""
    overlay = CoreOverlay([("B1", "B2"), ("B2", "B4"), ("B1", "B3"), ("B3", "B4")])
    overlay.attach("P", "B1")
    overlay.attach("S", subscriber)
    advertise_over(overlay, "P", "B3", above(0))
    overlay.subscribe("S", "s", above(0))
    overlay.settle()
    return overlay


def test_a_tree_that_a_restarted_broker_cannot_offer_grows_round_it() -> None:
    overlay = _ring()
    overlay.cut("B1", "B3")
    overlay.kill("B3")
    overlay.restart("B3")
    overlay.settle()
    overlay.fire_timers()
    overlay.settle()
    overlay.publish("P", "P:1", quote(5))
    overlay.settle()
    assert overlay.notified["S"] == ["P:1"]
    last_hops = {"B1": None, "B2": "B1", "B3": "B4", "B4": "B2"}
    for name, last_hop in last_hops.items():
        assert overlay.brokers[name].tables()["subscription_routing_table"] == {"B1.1.1": last_hop}


def test_an_end_known_from_elsewhere_waits_for_the_link_towards_the_root() -> None:
    """Publications that wait for the link find the tree when it comes up; a link that stays down ends it."""
    for comes_up in (True, False):
        overlay = _ring()
        overlay.cut("B3", "B4")
        overlay.publish("P", "P:1", quote(5))
        overlay.request("P", Operation.UNADVERTISE, "a")
        overlay.settle()
        assert _subscriptions_at_b4(overlay) == ["B1.1.1"]
        if comes_up:
            overlay.join("B3", "B4")
        else:
            overlay.fire_timers()
        overlay.settle()
        assert overlay.notified["S"] == ["P:1"] * comes_up
        overlay.request("S", Operation.UNSUBSCRIBE, "s")
        assert overlay.brokers["B4"].tables() == EMPTY


def test_a_new_path_of_a_tree_is_passed_on_to_all_behind() -> None:
    """Otherwise a broker on the new path, restarted, would take the tree from its own descendants."""
    overlay = CoreOverlay([("B1", "B2"), ("B2", "B3"), ("B3", "B4")])
    overlay.attach("P", "B1")
    overlay.advertise("P", "a", above(0))
    overlay.settle()
    (row,) = overlay.brokers["B3"]._router._advertisements  # type: ignore[attr-defined]
    announcement = Message(Kind.ADVERTISE, row.id, row.body, encode_header(AdvertiseHeader(("B1", "B9", "B2"))), 3)
    overlay.brokers["B3"].neighbours.receive("B2", [announcement])
    overlay.brokers["B3"].neighbours.receive("B2", [announcement])
    sent = overlay.brokers["B3"].links["B4"].take()
    assert [decode_advertise(message.header).path for message in sent] == [("B1", "B9", "B2", "B3")]


def test_a_neighbour_cannot_declare_a_brokers_state_void_that_is_not_planned_to_restart() -> None:
    overlay = CoreOverlay([("C", "A"), ("A", "B"), ("X", "A")], starts={"B": 2})
    overlay.attach("P", "C")
    overlay.attach("S", "B")
    overlay.advertise("P", "a", above(0))
    overlay.subscribe("S", "s", above(0))
    overlay.settle()
    for broker, incarnation in (("C", 10**15), ("C", 2), ("B", 3), ("B", 0)):
        lie = Message(Kind.CONTROL, f"{broker}.{incarnation}", b"", encode_header(Restarted(broker, incarnation)))
        overlay.brokers["A"].neighbours.receive("X", [lie])
        overlay.settle()
    overlay.publish("P", "p", quote(10))
    overlay.settle()
    assert overlay.notified["S"] == ["p"]
    assert overlay.traces["A"].of(Event.DROPPED)


def test_a_restart_that_is_planned_is_believed() -> None:
    overlay = CoreOverlay([("B1", "B2"), ("B2", "B3")], starts={"B1": 2})
    overlay.attach("P", "B1")
    overlay.advertise("P", "a", above(0))
    overlay.settle()
    overlay.kill("B1")
    overlay.restart("B1")
    overlay.settle()
    assert overlay.brokers["B3"].tables()["subscription_routing_table"] == {}
