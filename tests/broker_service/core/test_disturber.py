"""Disturbed messages: what the router of the receiving broker gets, when, and what is logged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_service.config import BrokerConfig, Disturbance, LinkConfig
from broker_service.core.broker import Broker
from broker_service.messages import Kind, Message
from record.log import Event
from tests.broker_service.manual_timers import ManualTimers
from tests.broker_service.obedient import OBEDIENT, ObedientRouter, registered
from tests.broker_service.overlay import ListTrace

SHARES = st.tuples(*[st.integers(0, 3)] * 3).map(lambda parts: [part / 10 for part in parts])


class OneBroker:
    """The broker B1, whose neighbour B2 is disturbed from the beginning."""

    def __init__(self, routers: dict[str, ObedientRouter], seed: int = 0, **shares: float) -> None:
        self.trace, self.timers = ListTrace("B1"), ManualTimers()
        disturbance = Disturbance(**shares)
        links = [
            LinkConfig(neighbour=neighbour, local="", remote="", dial=True, disturbance=given)
            for neighbour, given in (("B2", disturbance), ("B3", Disturbance()))
        ]
        config = BrokerConfig(id="B1", incarnation=1, protocol=OBEDIENT, links=tuple(links), seed=seed)
        self.broker = Broker(config, lambda: 0, self.trace, self.timers.schedule)
        self.router = routers["B1"]
        for neighbour in ("B2", "B3"):
            self.broker.neighbours.link_up(neighbour, 1, 0)

    def come(self, count: int, neighbour: str = "B2") -> None:
        first = self.broker.links[neighbour].received
        self.broker.neighbours.receive(
            neighbour, [Message(Kind.CONTROL, str(first + number)) for number in range(count)]
        )

    def routed(self) -> list[str]:
        return [message.id for message in self.router.messages]

    def fates(self) -> list[tuple[str | None, str | None]]:
        return [(record.id, record.text) for record in self.trace.of(Event.DISTURBED)]


@pytest.fixture
def routers() -> Iterator[dict[str, ObedientRouter]]:
    with registered() as known:
        yield known


@given(seed=st.integers(0, 1000), shares=SHARES, batches=st.lists(st.integers(1, 20), max_size=10))
def test_each_message_has_the_fate_that_the_log_names(seed: int, shares: list[float], batches: list[int]) -> None:
    with registered() as routers:
        lose, repeat, hold = shares
        one = OneBroker(routers, seed, lose=lose, repeat=repeat, hold=hold, held_for=1.0)
        for count in batches:
            one.come(count)
        total = sum(batches)
        assert one.broker.links["B2"].received == total
        fates = dict(one.fates())
        held = [id for id, fate in fates.items() if fate == "held back"]
        wanted = Counter(map(str, range(total)))
        for id, fate in fates.items():
            wanted[id or ""] = {"lost": 0, "repeated": 2, "held back": 0}[fate or ""]
        assert Counter(one.routed()) == +wanted
        assert one.routed() == sorted(one.routed(), key=int)
        assert one.broker.awaited_timers == len(held)
        for key in list(one.timers.running):
            one.timers.fire(key)
        assert one.routed()[len(one.routed()) - len(held) :] == held
        assert one.broker.awaited_timers == 0


@pytest.mark.parametrize(
    ("fate", "shares"),
    [("lost", {"lose": 1.0}), ("repeated", {"repeat": 1.0}), ("held back", {"hold": 1.0, "held_for": 2.0})],
)
def test_shares_of_one_hit_every_message(routers: dict[str, ObedientRouter], fate: str, shares: Any) -> None:
    one = OneBroker(routers, **shares)
    one.come(20)
    assert one.fates() == [(str(number), fate) for number in range(20)]
    (record, *_) = one.trace.of(Event.DISTURBED)
    assert (record.peer, record.kind) == ("B2", "control")
    assert record.duration == (2_000_000_000 if fate == "held back" else None)


def test_shares_are_met(routers: dict[str, ObedientRouter]) -> None:
    one = OneBroker(routers, lose=0.1, repeat=0.2, hold=0.3, held_for=1.0)
    one.come(10_000)
    counts = Counter(fate for _, fate in one.fates())
    for fate, share in (("lost", 0.1), ("repeated", 0.2), ("held back", 0.3)):
        assert counts[fate] == pytest.approx(share * 10_000, rel=0.1)


def test_other_neighbours_are_not_disturbed_and_none_is_afterwards(routers: dict[str, ObedientRouter]) -> None:
    one = OneBroker(routers, lose=1.0)
    one.come(5, "B3")
    one.broker.neighbours.disturb("B2", Disturbance())
    one.come(5)
    assert len(one.routed()) == 10
    one.broker.neighbours.disturb("B3", Disturbance(lose=1.0))
    one.come(5, "B3")
    assert [record.peer for record in one.trace.of(Event.DISTURBED)] == ["B3"] * 5
    with pytest.raises(ValueError, match="B1 and B9 are not linked"):
        one.broker.neighbours.disturb("B9", Disturbance(lose=1.0))


@pytest.mark.parametrize("change", ["restart", "vanish", "vanish and appear"])
def test_a_message_that_is_held_back_goes_with_its_sender(routers: dict[str, ObedientRouter], change: str) -> None:
    one = OneBroker(routers, hold=1.0, held_for=1.0)
    one.come(1)
    one.broker.neighbours.link_down("B2")
    if change == "restart":
        one.broker.neighbours.link_up("B2", 2, 0)
    else:
        one.broker.neighbours.remove("B2")
    if change == "vanish and appear":
        one.broker.neighbours.add(LinkConfig(neighbour="B2", local="", remote="", dial=True, appearance=2))
        one.broker.neighbours.link_up("B2", 1, 0)
    (key,) = one.timers.running
    one.timers.fire(key)
    assert one.routed() == []
    assert one.fates() == [("0", "held back"), ("0", "lost")]


def test_a_message_that_is_held_back_outlives_the_stream(routers: dict[str, ObedientRouter]) -> None:
    one = OneBroker(routers, hold=1.0, held_for=1.0)
    one.come(1)
    one.broker.neighbours.link_down("B2")
    (key,) = one.timers.running
    one.timers.fire(key)
    assert one.routed() == ["0"]


def test_the_end_of_a_broker_ends_what_is_held_back(routers: dict[str, ObedientRouter]) -> None:
    one = OneBroker(routers, hold=1.0, held_for=1.0)
    one.come(3)
    one.broker.cancel_timers()
    assert (one.broker.awaited_timers, one.timers.running) == (0, {})


@pytest.mark.parametrize(
    "shares",
    [{"lose": -0.1}, {"lose": 1.1}, {"lose": 0.6, "repeat": 0.6}, {"hold": 0.1}, {"hold": 0.1, "held_for": -1.0}],
)
def test_impossible_disturbances(shares: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"messages are held back|shares from 0 to 1"):
        Disturbance(**shares)
