"""Links of a simulated overlay that appear and vanish at any time."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from broker_service.config import Limits
from broker_service.messages import Kind, Message
from broker_service.routing.interface import Send
from emulation.live_overlay import BrokerSettings
from emulation.simulation import SimulatedOverlay
from record.log import Event
from tests.broker_service.obedient import OBEDIENT, ObedientRouter, registered
from tests.broker_service.overlay import ListTrace
from topology.link_properties import Link, LinkProperties
from topology.model import Broker, Overlay

BROKERS = ("B1", "B2", "B3", "B4")
PAIRS = list(itertools.combinations(BROKERS, 2))
START = (("B1", "B2"), ("B2", "B4"), ("B3", "B4"))
LINK = LinkProperties(delay=0.01, jitter=0.002)
LIMITS = Limits(heartbeat=0.5, reconnect_last=0.2)


class Changing:
    """Four brokers in a line; each message states the number of times that its two brokers have been linked."""

    def __init__(self, routers: dict[str, ObedientRouter], protocol: str = OBEDIENT) -> None:
        self.routers = routers
        self.traces = {name: ListTrace(name) for name in BROKERS}
        start = Overlay("changing", tuple(map(Broker, BROKERS)), tuple(link(*pair) for pair in START))
        settings = BrokerSettings(protocol=protocol, limits=LIMITS, seed=7)
        self.overlay = SimulatedOverlay(start, settings, self.traces.__getitem__)
        self.appearances = Counter(START)
        self.present = set(START)
        self.paused: set[str] = set()
        self.overlay.start()

    def change(self, pair: tuple[str, str]) -> None:
        """Removes the link if it is there, else adds it."""
        if pair in self.present:
            self.present.remove(pair)
            self.overlay.links.remove(*pair)
        else:
            self.present.add(pair)
            self.appearances[pair] += 1
            self.overlay.links.add(link(*pair))

    def send(self, pair: tuple[str, str]) -> None:
        """Has a broker send a message to the other, if it knows it as its neighbour."""
        source, target = pair
        core = self.overlay.brokers.cores.get(source)
        if core is not None and target in core.links and source not in self.paused:
            core._actions.perform([Send(target, Message(Kind.CONTROL, f"{source} {core.links[target].appearance}"))])

    def pause(self, broker: str) -> None:
        if broker in self.overlay.brokers.cores and broker not in self.paused:
            self.paused.add(broker)
            self.overlay.brokers.pause(broker)

    def resume(self, broker: str) -> None:
        if broker in self.paused:
            self.paused.remove(broker)
            self.overlay.brokers.resume(broker)

    def restart(self, broker: str) -> None:
        self.resume(broker)
        self.overlay.brokers.restart(broker)

    def heal(self) -> None:
        """Lets everything continue, and time pass until all links are up."""
        for broker in sorted(self.paused):
            self.resume(broker)
        self.overlay.pass_time(30.0)
        self.overlay.settle()

    def neighbours(self, broker: str) -> set[str]:
        return {a if b == broker else b for a, b in self.present if broker in (a, b)}


@pytest.fixture
def changing() -> Iterator[Changing]:
    with registered() as routers:
        yield Changing(routers)


def link(a: str, b: str) -> Link:
    return Link(a, b, LINK, LINK)


def test_a_link_that_appears_comes_up_and_one_that_vanishes_is_forgotten(changing: Changing) -> None:
    changing.overlay.pass_time(1.0)
    changing.routers["B3"].calls.clear()
    changing.change(("B2", "B3"))
    assert changing.routers["B3"].calls == [("neighbour_added", "B2")]
    changing.overlay.settle()
    changing.send(("B2", "B3"))
    changing.overlay.settle()
    changing.change(("B2", "B3"))
    assert changing.routers["B3"].calls == [
        ("neighbour_added", "B2"),
        ("link_up", "B2"),
        ("receive", "B2 1"),
        ("link_down", "B2"),
        ("neighbour_removed", "B2"),
    ]
    assert changing.overlay.settled


def test_what_a_vanished_link_carried_never_arrives(changing: Changing) -> None:
    changing.overlay.settle()
    for _ in range(3):
        changing.send(("B1", "B2"))
    changing.overlay.pass_time(0.005)
    changing.change(("B1", "B2"))
    changing.change(("B1", "B2"))
    changing.overlay.settle()
    assert changing.routers["B2"].messages == []
    assert [record.text for record in changing.traces["B1"].of(Event.DROPPED)] == ["link vanished"] * 3
    changing.send(("B1", "B2"))
    changing.overlay.settle()
    assert [message.id for message in changing.routers["B2"].messages] == ["B1 2"]


def test_each_appearance_of_a_link_draws_anew(changing: Changing) -> None:
    delays = []
    for _ in range(3):
        changing.overlay.settle()
        sent = changing.overlay.events.now
        changing.send(("B1", "B2"))
        changing.overlay.settle()
        delays.append(changing.traces["B2"].of(Event.RECEIVED)[-1].time - sent)
        changing.change(("B1", "B2"))
        changing.change(("B1", "B2"))
    assert len(set(delays)) == 3


@pytest.mark.parametrize("protocol", ["tid"])
def test_a_protocol_that_does_not_bear_it_keeps_its_links(protocol: str) -> None:
    changing = Changing({}, protocol)
    with pytest.raises(ValueError, match="a broker that routes by tid do not change"):
        changing.overlay.links.add(link("B2", "B3"))
    with pytest.raises(ValueError, match="a broker that routes by tid do not change"):
        changing.overlay.links.remove("B1", "B2")


def test_links_are_added_and_removed_once(changing: Changing) -> None:
    with pytest.raises(ValueError, match="B1 and B2 are linked already"):
        changing.overlay.links.add(link("B1", "B2"))
    with pytest.raises(ValueError, match="B1 and B3 are not linked"):
        changing.overlay.links.remove("B1", "B3")


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("change"), st.sampled_from(PAIRS)),
        st.tuples(st.just("send"), st.sampled_from([*PAIRS, *(pair[::-1] for pair in PAIRS)])),
        st.tuples(st.sampled_from(["pause", "resume", "restart"]), st.sampled_from(BROKERS)),
        st.tuples(st.just("wait"), st.sampled_from([0.0, 0.005, 0.02, 3.0])),
    ),
    max_size=40,
)


@given(STEPS)
@example([("pause", "B1"), ("change", ("B1", "B2")), ("resume", "B1"), ("change", ("B1", "B2"))])
@example(
    [("change", ("B1", "B3")), ("pause", "B3"), ("change", ("B1", "B3")), ("resume", "B3"), ("change", ("B1", "B3"))]
)
def test_whatever_changes_when_brokers_know_their_neighbours_and_nothing_crosses_appearances(
    steps: list[tuple[str, object]],
) -> None:
    with registered() as routers:
        changing = Changing(routers)
        for name, argument in steps:
            if name == "wait":
                changing.overlay.pass_time(argument)  # type: ignore[arg-type]
            else:
                getattr(changing, name)(argument)
        changing.heal()
        for broker, core in changing.overlay.brokers.cores.items():
            assert set(core.links) == changing.neighbours(broker)
            assert all(end.up for end in core.links.values())
        for pair in changing.present:
            changing.send(pair)
            changing.send(pair[::-1])
        changing.heal()
        for broker, router in routers.items():
            ids = [message.id for message in router.messages]
            arrived = {(source, broker): int(appearance) for source, appearance in map(str.split, ids)}
            for neighbour in changing.neighbours(broker):
                pair = (min(broker, neighbour), max(broker, neighbour))
                assert arrived[neighbour, broker] == changing.appearances[pair], "the last message is of today's link"
            for source in {message.split()[0] for message in ids}:
                numbers = [int(message.split()[1]) for message in ids if message.split()[0] == source]
                assert numbers == sorted(numbers)
