"""OctopiA's tables against the truth, whatever clients do in any interleaving, brokers die and links break."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_service.language import Advertisement, Subscription
from broker_service.language.relations import intersects
from broker_service.messages import Kind, Message, Operation
from broker_service.routing.common.decoding import encode_header
from broker_service.routing.octopia.messages import CivSetForAdvertisement, CivUnset
from record.log import Event
from tests.broker_service.overlay import CoreOverlay
from tests.broker_service.routing.octopia.scot_overlays import (
    FIGURE_3_TREE,
    FIGURE_7_TREE,
    advertised,
    scot,
    sent,
    subscribed,
    trees,
)
from tests.broker_service.routing.stocks import above, between, quote

ROUNDS_OF_TIMERS = 10


def declared(overlay: CoreOverlay, what: str) -> dict[str, Any]:
    """All that living clients have advertised or subscribed to, by overlay-wide id."""
    return {
        made.id: made.content
        for broker in overlay.brokers.values()
        for client in broker._actions.clients.values()
        for made in getattr(client, what).values()
    }


def assert_tables_are_true(overlay: CoreOverlay) -> None:
    """Everything follows from what clients have said and where they are. B(a, 0) is called `a0`."""
    advertisements: dict[str, Advertisement] = declared(overlay, "advertisements")
    subscriptions: dict[str, Subscription] = declared(overlay, "subscriptions")
    clusters = len({name[1] for name in overlay.names})
    assert subscribed(overlay) == {id: {name for name in overlay.names if name[1] == id[1]} for id in subscriptions}
    vectors: dict[str, dict[str, str]] = {}
    for id, advertisement in advertisements.items():
        host = int(id[1])
        wanting = {int(other[1]) for other, wanted in subscriptions.items() if intersects(advertisement, wanted)}
        vectors[id] = {}
        for name in (name for name in overlay.names if name[0] == id[0]):
            own = int(name[1])
            bits = {host} | (wanting if own == host else wanting & {own})
            vectors[id][name] = "".join("01"[cluster in bits] for cluster in reversed(range(clusters)))
    assert advertised(overlay) == vectors


def quieten(overlay: CoreOverlay) -> None:
    """Everybody lives, all links work, all timers have run out."""
    for name in overlay.names:
        if name not in overlay.brokers:
            overlay.restart(name)
    for cut in list(overlay.cuts):
        overlay.join(*sorted(cut))
    overlay.settle()
    for _ in range(ROUNDS_OF_TIMERS):
        if not overlay.timers:
            return
        overlay.fire_timers()
        overlay.settle()
    raise AssertionError("timers are set for ever")


class Upheaval:
    """Random deeds on an overlay, one at a time, with frames moving in between."""

    def __init__(self, overlay: CoreOverlay, rng: random.Random, failures: bool) -> None:
        self._overlay = overlay
        self._rng = rng
        self._clients = 0
        self._deeds = [self._advertise, self._subscribe, self._subscribe, self._withdraw, self._withdraw, self._leave]
        if failures:
            self._deeds += [self._kill, self._restart, self._cut, self._join]

    def run(self, deeds: int) -> None:
        for _ in range(deeds):
            self._rng.choice(self._deeds)()
            for _ in range(self._rng.randrange(8)):
                self._overlay.step()
            if self._rng.random() < 0.1:
                self._overlay.fire_timers()

    def _client(self) -> str | None:
        if not self._overlay.brokers:
            return None
        if self._overlay.sessions and self._rng.random() < 0.6:
            return self._rng.choice(sorted(self._overlay.sessions))
        self._clients += 1
        self._overlay.attach(f"C{self._clients}", self._rng.choice(sorted(self._overlay.brokers)))
        return f"C{self._clients}"

    def _advertise(self) -> None:
        if client := self._client():
            low = self._rng.randrange(50)
            content = between(low, low + self._rng.randrange(2, 30))
            self._overlay.advertise(client, f"a{self._rng.randrange(3)}", content)

    def _subscribe(self) -> None:
        if client := self._client():
            low = self._rng.randrange(80)
            content = between(low, low + self._rng.randrange(2, 20))
            self._overlay.subscribe(client, f"s{self._rng.randrange(3)}", content)

    def _withdraw(self) -> None:
        if self._overlay.sessions:
            client = self._rng.choice(sorted(self._overlay.sessions))
            operation, name = self._rng.choice([(Operation.UNADVERTISE, "a"), (Operation.UNSUBSCRIBE, "s")])
            self._overlay.request(client, operation, f"{name}{self._rng.randrange(3)}")

    def _leave(self) -> None:
        if self._overlay.sessions:
            client = self._rng.choice(sorted(self._overlay.sessions))
            broker, session = self._overlay.sessions.pop(client)
            self._overlay.brokers[broker].sessions.close(session)

    def _kill(self) -> None:
        if self._overlay.brokers:
            self._overlay.kill(self._rng.choice(sorted(self._overlay.brokers)))

    def _restart(self) -> None:
        dead = [name for name in self._overlay.names if name not in self._overlay.brokers]
        if dead:
            self._overlay.restart(self._rng.choice(dead))

    def _cut(self) -> None:
        whole = [link for link in self._overlay.links if set(link) not in self._overlay.cuts]
        if whole:
            self._overlay.cut(*self._rng.choice(whole))

    def _join(self) -> None:
        living = [cut for cut in self._overlay.cuts if cut <= self._overlay.brokers.keys()]
        if living:
            self._overlay.join(*sorted(self._rng.choice(living)))


@settings(max_examples=60, deadline=None)
@given(tree=trees(), clusters=st.integers(1, 4), seed=st.integers(0, 2**32), deeds=st.integers(10, 80))
@pytest.mark.parametrize("failures", [False, True])
def test_tables_are_true_once_the_overlay_is_quiet(
    failures: bool, tree: list[str], clusters: int, seed: int, deeds: int
) -> None:
    rng = random.Random(seed)
    overlay = scot(tree, clusters, seed=seed)
    Upheaval(overlay, rng, failures).run(deeds)
    quieten(overlay)
    assert_tables_are_true(overlay)


@pytest.mark.parametrize("seed", range(10))
def test_a_secondary_broker_that_comes_back_is_told_what_its_cluster_is_counted_on_for(seed: int) -> None:
    """Its cluster's bit stays, and nothing is said about it, in whichever order its neighbours tell it all."""
    overlay = scot(FIGURE_7_TREE, 2, seed=seed)
    overlay.attach("P", "b0")
    overlay.attach("S", "a1")
    overlay.advertise("P", "a", above(0))
    overlay.subscribe("S", "s", above(0))
    overlay.settle()
    announced = len(sent(overlay, "control"))
    overlay.kill("b1")
    overlay.restart("b1")
    assert advertised(overlay)["b0.1.1"]["b0"] == "11"
    quieten(overlay)
    assert advertised(overlay)["b0.1.1"] == {"b0": "11", "b1": "11"}
    assert len(sent(overlay, "control")) == announced
    overlay.publish("P", "P:1", quote(5))
    overlay.settle()
    assert overlay.notified == {"S": ["P:1"]}


def test_what_a_broker_says_again_after_a_restart_stays() -> None:
    overlay = scot(FIGURE_7_TREE, 1)
    overlay.attach("S", "c0")
    overlay.subscribe("S", "s", above(0))
    overlay.settle()
    overlay.kill("b0")
    quieten(overlay)
    assert subscribed(overlay) == {"c0.1.1": {"a0", "b0", "c0"}}


def test_what_a_dead_brokers_own_clients_had_is_forgotten_at_once() -> None:
    """Without waiting for its time to say it again to run out."""
    overlay = scot(FIGURE_7_TREE, 1)
    overlay.attach("S", "c0")
    overlay.subscribe("S", "s", above(0))
    overlay.settle()
    overlay.kill("c0")
    overlay.restart("c0")
    overlay.settle()
    assert subscribed(overlay) == {}


def test_a_neighbour_that_is_cut_off_has_its_time_to_speak_when_it_is_back() -> None:
    overlay = scot(FIGURE_7_TREE, 1)
    overlay.attach("S", "c0")
    overlay.subscribe("S", "s", above(0))
    overlay.settle()
    overlay.kill("b0")
    overlay.request("S", Operation.UNSUBSCRIBE, "s")
    overlay.restart("b0")
    overlay.cut("a0", "b0")
    overlay.fire_timers()
    assert subscribed(overlay) == {"c0.1.1": {"a0"}}
    overlay.join("a0", "b0")
    overlay.fire_timers()
    assert subscribed(overlay) == {}


def test_a_subscription_withdrawn_while_the_secondary_broker_was_dead_is_not_counted_on() -> None:
    overlay = scot(FIGURE_7_TREE, 2)
    overlay.attach("P", "b0")
    overlay.attach("S", "a1")
    overlay.advertise("P", "a", above(0))
    overlay.subscribe("S", "s", above(0))
    overlay.settle()
    overlay.kill("b1")
    overlay.request("S", Operation.UNSUBSCRIBE, "s")
    overlay.settle()
    assert advertised(overlay)["b0.1.1"]["b0"] == "11"
    quieten(overlay)
    assert advertised(overlay)["b0.1.1"] == {"b0": "01", "b1": "01"}


def test_what_a_neighbour_says_of_foreign_advertisements_is_nothing() -> None:
    """A broker answers for its own publishers only, whatever comes in."""
    overlay = scot(FIGURE_3_TREE, 3)
    overlay.attach("P", "a0")
    overlay.advertise("P", "a", above(0))
    overlay.settle()
    before = advertised(overlay)
    for news in CivSetForAdvertisement("a0.1.1"), CivUnset(("a0.1.1", "x9.1.1")):
        overlay.brokers["a1"].neighbours.receive("a2", [Message(Kind.CONTROL, "a0.1.1", b"", encode_header(news), 1)])
    assert advertised(overlay) == before
    overlay.brokers["a1"].neighbours.receive("a2", [Message(Kind.CONTROL, "a0.1.1", b"", b"\xc1", 1)])
    (dropped,) = overlay.records(Event.DROPPED)
    assert (dropped.text or "").startswith("malformed")
