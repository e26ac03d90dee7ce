"""Links of a simulated full mesh that are made when they are first used, rest when idle, and resume."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_service.config import Disturbance, Limits
from broker_service.links.session import ACKNOWLEDGE_AFTER, MISSED_HEARTBEATS
from broker_service.messages import Kind, Message
from broker_service.routing.interface import Send
from emulation.live_overlay import BrokerSettings
from emulation.simulation import SimulatedOverlay
from record.log import Event
from tests.broker_service.obedient import OBEDIENT, ObedientRouter, registered
from tests.broker_service.overlay import ListTrace
from topology.link_properties import Link, LinkDirection, LinkProperties
from topology.model import Broker, LinkSource, MeshLinks, Overlay

BROKERS = tuple(f"B{number}" for number in range(1, 6))
DELAY, IDLE_CLOSE, HEARTBEAT = 0.01, 5.0, 0.5
EAGER = Limits(heartbeat=HEARTBEAT, reconnect_last=0.2, idle_close=IDLE_CLOSE)
ON_DEMAND = Limits(heartbeat=HEARTBEAT, reconnect_last=0.2, idle_close=IDLE_CLOSE, eager_mesh=len(BROKERS) - 1)


@dataclass(frozen=True)
class EqualLinks(LinkSource):
    """Every link has the same delay."""

    def between(self, a: str, b: str) -> Link:
        return Link(a, b, LinkProperties(delay=DELAY), LinkProperties(delay=DELAY))


class Meshed:
    """A full mesh of brokers that send what a test asks for."""

    def __init__(self, routers: Mapping[str, ObedientRouter], limits: Limits = ON_DEMAND) -> None:
        self.routers = routers
        self.traces = {name: ListTrace(name) for name in BROKERS}
        brokers = tuple(Broker(name, {"number": number}) for number, name in enumerate(BROKERS))
        mesh = Overlay("mesh", brokers, MeshLinks(BROKERS, EqualLinks()))
        settings = BrokerSettings(protocol=OBEDIENT, limits=limits, seed=7)
        self.overlay = SimulatedOverlay(mesh, settings, self.traces.__getitem__)
        self.overlay.start()
        self.overlay.settle()

    def send(self, source: str, target: str, id: str = "m") -> None:
        self.overlay.brokers.cores[source]._actions.perform([Send(target, Message(Kind.CONTROL, id))])

    def used(self) -> set[tuple[str, str]]:
        """Ends that exist, by broker and neighbour."""
        return {(name, neighbour) for name, core in self.overlay.brokers.cores.items() for neighbour in core.links}

    def connected(self, broker: str, neighbour: str) -> bool:
        return self.overlay.brokers.cores[broker].links[neighbour].connected

    def calls(self, broker: str, name: str) -> list[object]:
        return [argument for call, argument in self.routers[broker].calls if call == name]

    def received(self, broker: str) -> list[str]:
        return [message.id for message in self.routers[broker].messages]


@pytest.fixture
def meshed() -> Iterator[Meshed]:
    with registered() as routers:
        yield Meshed(routers)


def test_all_brokers_are_neighbours_and_no_link_exists(meshed: Meshed) -> None:
    links = meshed.routers["B3"].context.links
    assert (meshed.used(), meshed.overlay.events.now) == (set(), 0), "an overlay without links is up at once"
    assert list(links) == ["B1", "B2", "B4", "B5"]
    assert len(links) == 4
    assert "B3" not in links
    assert "B9" not in links
    assert [(link.up, link.round_trip, link.queue_length, link.utilisation) for link in links.values()] == [
        (True, None, 0, 1.0)
    ] * 4
    assert links["B5"].attributes == {"number": 4}
    assert links["B5"].flow(1.0) == (0, 0)
    assert meshed.used() == set(), "a router that looks makes no link"
    for stranger in ("B3", "B9"):
        with pytest.raises(KeyError):
            links[stranger]


@pytest.mark.parametrize(("source", "target"), [("B2", "B4"), ("B4", "B2")])
def test_the_first_message_opens_the_link_from_either_end(meshed: Meshed, source: str, target: str) -> None:
    meshed.send(source, target)
    meshed.overlay.settle()
    assert meshed.used() == {("B2", "B4"), ("B4", "B2")}
    assert meshed.received(target) == ["m"]
    assert meshed.overlay.events.now == round(5 * DELAY * 1e9), "connection, hello, answer, message"
    assert meshed.calls(source, "link_up") == [target]
    assert meshed.calls(target, "link_up") == [source]
    link = meshed.routers[source].context.links[target]
    assert link.round_trip == pytest.approx(2 * DELAY)


def test_an_idle_link_rests_unnoticed_and_resumes(meshed: Meshed) -> None:
    meshed.send("B1", "B2", "before")
    meshed.overlay.pass_time(IDLE_CLOSE)
    assert meshed.connected("B1", "B2"), "it carried a message since the look before"
    meshed.overlay.pass_time(2 * IDLE_CLOSE)
    assert not meshed.connected("B1", "B2")
    assert not meshed.connected("B2", "B1")
    assert meshed.routers["B1"].context.links["B2"].up
    meshed.send("B2", "B1", "back")
    meshed.send("B1", "B2", "after")
    meshed.overlay.settle()
    assert (meshed.received("B1"), meshed.received("B2")) == (["back"], ["before", "after"])
    for broker, neighbour in (("B1", "B2"), ("B2", "B1")):
        assert meshed.calls(broker, "link_up") == [neighbour]
        assert meshed.calls(broker, "link_down") == []
        assert meshed.traces[broker].of(Event.LINK_DOWN) == []
    assert meshed.overlay.brokers.cores["B1"].links["B2"].sent == 2
    assert meshed.overlay.brokers.cores["B2"].links["B1"].received == 2


def test_a_link_in_use_does_not_rest(meshed: Meshed) -> None:
    for _ in range(10):
        meshed.send("B1", "B2")
        meshed.overlay.pass_time(0.9 * IDLE_CLOSE)
        assert meshed.connected("B1", "B2")


def test_two_ends_that_open_a_link_at_once_share_a_stream(meshed: Meshed) -> None:
    meshed.send("B1", "B2", "there")
    meshed.send("B2", "B1", "back")
    meshed.overlay.settle()
    assert (meshed.received("B1"), meshed.received("B2")) == (["back"], ["there"])
    assert [len(meshed.calls(broker, "link_up")) for broker in ("B1", "B2")] == [1, 1]


def test_a_dead_neighbour_refuses_and_gets_what_waits_when_it_is_back(meshed: Meshed) -> None:
    meshed.overlay.brokers.kill("B2")
    meshed.send("B1", "B2")
    meshed.overlay.pass_time(3 * DELAY)
    assert meshed.calls("B1", "link_down") == ["B2"]
    assert not meshed.routers["B1"].context.links["B2"].up
    meshed.send("B1", "B2", "n")
    meshed.overlay.brokers.restart("B2")
    meshed.overlay.pass_time(1.0)
    assert meshed.calls("B1", "link_up") == ["B2"]
    assert meshed.received("B2") == ["m", "n"]


def test_a_neighbour_that_is_known_to_be_out_of_reach_is_not_tried(meshed: Meshed) -> None:
    meshed.send("B1", "B2")
    meshed.overlay.settle()
    meshed.overlay.brokers.kill("B2")
    meshed.overlay.pass_time(1.0)
    meshed.send("B1", "B2")
    assert meshed.overlay.settled


def test_a_link_that_never_was_up_does_not_go_down(meshed: Meshed) -> None:
    meshed.send("B1", "B2")
    meshed.overlay.pass_time(3 * IDLE_CLOSE)
    meshed.overlay.brokers.kill("B2")
    meshed.overlay.brokers.restart("B1")
    meshed.overlay.pass_time(5 * HEARTBEAT)
    assert meshed.calls("B1", "link_down") == []
    assert not meshed.routers["B1"].context.links["B2"].up


def test_a_broker_that_ended_learns_nothing_of_its_attempts(meshed: Meshed) -> None:
    meshed.overlay.brokers.pause("B2")
    meshed.send("B1", "B2")
    meshed.overlay.pass_time(HEARTBEAT)
    meshed.overlay.brokers.restart("B1")
    meshed.overlay.pass_time(5 * HEARTBEAT)
    assert meshed.traces["B1"].of(Event.LINK_DOWN) == []


def test_a_frozen_broker_closes_no_idle_link() -> None:
    with registered() as routers:
        meshed = Meshed(routers, msgspec.structs.replace(ON_DEMAND, idle_close=HEARTBEAT))
        meshed.send("B1", "B2")
        meshed.overlay.pass_time(HEARTBEAT)
        meshed.overlay.brokers.pause("B2")
        meshed.overlay.pass_time(5 * HEARTBEAT)
        assert meshed.calls("B1", "link_down") == ["B2"]


def test_a_frozen_neighbour_does_not_answer(meshed: Meshed) -> None:
    meshed.overlay.brokers.pause("B2")
    meshed.send("B1", "B2")
    meshed.overlay.pass_time((MISSED_HEARTBEATS - 1) * HEARTBEAT)
    assert meshed.calls("B1", "link_down") == []
    meshed.overlay.pass_time(2 * HEARTBEAT)
    assert meshed.calls("B1", "link_down") == ["B2"]
    meshed.overlay.brokers.resume("B2")
    meshed.overlay.pass_time(1.0)
    assert meshed.received("B2") == ["m"]


def test_a_cut_link_that_rested_is_reported_when_it_is_wanted(meshed: Meshed) -> None:
    meshed.send("B1", "B2", "before")
    meshed.overlay.pass_time(3 * IDLE_CLOSE)
    meshed.overlay.links.cut(LinkDirection("B1", "B2"))
    meshed.overlay.pass_time(1.0)
    assert meshed.calls("B1", "link_down") == []
    meshed.send("B1", "B2", "after")
    meshed.overlay.pass_time(5 * HEARTBEAT)
    assert meshed.calls("B1", "link_down") == ["B2"]
    meshed.overlay.links.restore(LinkDirection("B1", "B2"))
    meshed.overlay.pass_time(1.0)
    assert meshed.received("B2") == ["before", "after"]


def test_healing_a_link_that_rests_leaves_it_at_rest(meshed: Meshed) -> None:
    meshed.overlay.links.cut(LinkDirection("B1", "B2"))
    meshed.overlay.links.restore(LinkDirection("B1", "B2"))
    meshed.overlay.pass_time(1.0)
    assert meshed.used() == set()
    meshed.send("B1", "B2")
    meshed.overlay.pass_time(3 * IDLE_CLOSE)
    meshed.overlay.links.cut(LinkDirection("B1", "B2"))
    meshed.overlay.links.restore(LinkDirection("B1", "B2"))
    meshed.overlay.pass_time(1.0)
    assert not meshed.connected("B1", "B2")


def test_a_restarted_broker_opens_the_links_that_it_used(meshed: Meshed) -> None:
    meshed.send("B1", "B2")
    meshed.overlay.pass_time(3 * IDLE_CLOSE)
    meshed.overlay.brokers.restart("B1")
    meshed.overlay.pass_time(1.0)
    assert meshed.calls("B2", "link_up") == ["B1", "B1"], "once for each incarnation"
    assert meshed.calls("B1", "link_up") == ["B2"]
    assert meshed.used() == {("B1", "B2"), ("B2", "B1")}


def test_a_link_is_disturbed_from_its_first_message_on(meshed: Meshed) -> None:
    meshed.overlay.brokers.disturb(LinkDirection("B1", "B2"), Disturbance(lose=1.0))
    meshed.send("B1", "B2")
    meshed.overlay.settle()
    assert meshed.received("B2") == []
    assert len(meshed.traces["B2"].of(Event.DISTURBED)) == 1


def test_links_on_demand_neither_appear_nor_vanish(meshed: Meshed) -> None:
    with pytest.raises(ValueError, match="linked already"):
        meshed.overlay.links.add(Link("B1", "B2"))
    with pytest.raises(ValueError, match="do not vanish"):
        meshed.overlay.links.remove("B1", "B2")


PAIRS = list(itertools.permutations(BROKERS, 2))
STEP = st.one_of(
    st.sampled_from(PAIRS),
    st.sampled_from([0.001, 0.02, 0.3, IDLE_CLOSE, 2 * IDLE_CLOSE]),
    st.sampled_from([("pause", name) for name in BROKERS[:2]] + [("resume", name) for name in BROKERS[:2]]),
)


@given(steps=st.lists(STEP, max_size=30), idle_close=st.sampled_from([0.02, IDLE_CLOSE]))
def test_what_arrives_is_what_links_that_are_always_open_deliver(
    steps: Sequence[tuple[str, str] | float], idle_close: float
) -> None:
    limits = msgspec.structs.replace(ON_DEMAND, idle_close=idle_close)
    assert _arrived(limits, steps) == _arrived(EAGER, steps)


def test_a_link_does_not_rest_before_its_messages_are_acknowledged() -> None:
    with registered() as routers:
        meshed = Meshed(routers, msgspec.structs.replace(ON_DEMAND, idle_close=DELAY))
        meshed.send("B1", "B2")
        meshed.overlay.pass_time(5 * DELAY + ACKNOWLEDGE_AFTER)
        assert meshed.connected("B1", "B2")
        meshed.overlay.pass_time(5 * DELAY)
        assert not meshed.connected("B1", "B2")


def _arrived(limits: Limits, steps: Sequence[tuple[str, str] | float]) -> Mapping[tuple[str, str], Sequence[str]]:
    """Messages by pair of brokers in the order of arrival, once all brokers continue and nothing moves."""
    with registered() as routers:
        meshed = Meshed(routers, limits)
        paused: set[str] = set()
        for number, step in enumerate(steps):
            if isinstance(step, float):
                meshed.overlay.pass_time(step)
            elif step[0] == "pause" and step[1] not in paused:
                paused.add(step[1])
                meshed.overlay.brokers.pause(step[1])
            elif step[0] == "resume" and step[1] in paused:
                paused.remove(step[1])
                meshed.overlay.brokers.resume(step[1])
            elif step in PAIRS and step[0] not in paused:
                meshed.send(*step, id=f"{step[0]} {step[1]} {number}")
        for name in paused:
            meshed.overlay.brokers.resume(name)
        meshed.overlay.pass_time(3 * IDLE_CLOSE)
        meshed.overlay.settle()
        found: dict[tuple[str, str], list[str]] = defaultdict(list)
        for name in BROKERS:
            for id in meshed.received(name):
                found[id.split()[0], name].append(id)
        return found
