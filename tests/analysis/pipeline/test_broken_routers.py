"""The oracle against routers that are broken on purpose: it names what each does wrong, and nothing else.

Real broker cores, run by the simulator, whose router is wrapped in one that spoils some of what it decides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.tables.summary import Delivery
from broker_service.language import Publication
from broker_service.messages import ClientId, Kind, Message
from broker_service.routing import registry
from broker_service.routing.interface import Action, Actions, Deliver, Router, RouterContext, Send
from emulation.planning.plan import make_plan
from emulation.simulation.run import simulate
from scenario.loading import load
from tests.broker_service.wrapped import WrappedRouter

PUBLISHERS = {"Ann": "B1", "Abe": "B3"}
SUBSCRIBERS = {"Bob": "B3", "Cid": "B4", "Dan": "B1"}
PUBLICATIONS = 150
"""Publications of each publisher."""
LEFT_AT = 9.0
"""The time at which Bob has withdrawn his subscription, in seconds."""


class Spoiled(WrappedRouter):
    """A router that does what another decides, but for what `spoil` makes of its publications."""

    def __init__(self, router: Router, deeds: list[str]) -> None:
        super().__init__(router)
        self.deeds = deeds
        """The defects made, by the identifier of the publication."""

    def publish(self, client: ClientId, message: Message, publication: Publication, advertisement: str) -> Actions:
        return self.spoil(self._router.publish(client, message, publication, advertisement))

    def receive(self, neighbour: str, message: Message) -> Actions:
        actions = self._router.receive(neighbour, message)
        return self.spoil(actions) if message.kind is Kind.PUBLISH else actions

    def spoil(self, actions: Actions) -> Actions:
        return actions


class DropsEveryHundredth(Spoiled):
    """Every hundredth notification, over all brokers, never leaves. Bob's do, because one that comes while he leaves is
    not owed."""

    counted = 0

    def spoil(self, actions: Actions) -> Actions:
        return [action for action in actions if not self._dropped(action)]

    def _dropped(self, action: Action) -> bool:
        if not isinstance(action, Deliver) or "Bob" in action.clients:
            return False
        DropsEveryHundredth.counted += 1
        if DropsEveryHundredth.counted % 100:
            return False
        self.deeds += [action.message.id] * len(action.clients)
        return True


class ForwardsTwice(Spoiled):
    """Publications whose number ends in 7 leave the publisher's broker twice over each link."""

    def publish(self, client: ClientId, message: Message, publication: Publication, advertisement: str) -> Actions:
        actions = self._router.publish(client, message, publication, advertisement)
        twice = [action for action in actions if isinstance(action, Send) and message.id.endswith("7")]
        self.deeds += [message.id] * len(twice)
        return [*actions, *twice]


class IgnoresUnsubscriptions(Spoiled):
    """A client's unsubscription changes nothing."""

    def unsubscribe(self, client: ClientId, id: str) -> Actions:
        self.deeds.append(id)
        return []


class SwapsTwo(Spoiled):
    """Each publisher's tenth publication leaves after its eleventh."""

    held: Sequence[Action] = ()

    def publish(self, client: ClientId, message: Message, publication: Publication, advertisement: str) -> Actions:
        actions = self._router.publish(client, message, publication, advertisement)
        if message.id.endswith(":10"):
            self.held = actions
            self.deeds.append(message.id)
            return []
        late, self.held = self.held, ()
        return [*actions, *late]


class DeliversToAll(Spoiled):
    """Every notification of a broker goes to Dan as well, who is at B1 and wants dear ones only."""

    def spoil(self, actions: Actions) -> Actions:
        return [self._widened(action) for action in actions]

    def _widened(self, action: Action) -> Action:
        if not isinstance(action, Deliver) or "Dan" in action.clients or "Eve" not in action.clients:
            return action
        self.deeds.append(action.message.id)
        return Deliver((*action.clients, "Dan"), action.message)


def scenario(protocol: str, publications: str) -> str:
    """Two publishers, thirty publications a second; three subscribers of dear ones and one of all; Bob leaves."""
    operations = [
        f"    - {{at: 0.1s, client: {client}, broker: {broker}, id: a1, advertise: \"[class,eq,'STOCK'],[price,>,0]\"}}"
        for client, broker in PUBLISHERS.items()
    ]
    operations += [
        f"    - {{at: 1s, client: {client}, broker: {broker}, id: s1, subscribe: \"[class,eq,'STOCK'],[price,>,50]\"}}"
        for client, broker in SUBSCRIBERS.items()
    ]
    operations += [
        "    - {at: 1s, client: Eve, broker: B1, id: s1, subscribe: \"[class,eq,'STOCK']\"}",
        "    - {at: 5s, client: Bob, broker: B3, unsubscribe: s1}",
    ]
    operations += [
        f"    - {{at: {2 + number * 10 / PUBLICATIONS:.4f}s, client: {client}, broker: {broker}, "
        f"publish: \"[class,'STOCK'],[price,{10 + number * 37 % 90}]\"}}"
        for number in range(PUBLICATIONS)
        for client, broker in PUBLISHERS.items()
    ]
    return "\n".join(
        [
            "name: broken",
            "topology: {kind: ring, brokers: 4, link: {delay: 3ms, bandwidth: 10mbit}}",
            f"routing: {{protocol: {protocol}, publications: {publications}}}",
            "workload:",
            "  operations:",
            *operations,
            "timeline: {join: 2s, run: 10s, drain: 3s}",
        ]
    )


def judged(
    directory: Path,
    patch: pytest.MonkeyPatch,
    spoiled: Callable[[Router, list[str]], Router],
    publications: str = "fixed",
) -> tuple[Delivery, list[str]]:
    """The oracle's verdict on a run with such routers, and the defects they made."""
    deeds: list[str] = []
    good = registry.PROTOCOLS["tid"]

    def router(context: RouterContext[Any]) -> Router:
        return spoiled(good.router(context), deeds)

    broken = replace(good, router=router)
    patch.setitem(registry.PROTOCOLS, "broken", broken)  # type: ignore[arg-type]
    (directory / "broken.yaml").write_text(scenario("broken", publications))
    run = simulate(make_plan(load(directory / "broken.yaml")), directory).directory
    return analyze(run, PlainEngine()).variants[0].delivery, deeds


@pytest.mark.parametrize("publications", ["fixed", "dynamic"])
def test_a_healthy_router_is_correct(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, publications: str) -> None:
    delivery, _ = judged(tmp_path, monkeypatch, Spoiled, publications)
    assert delivery.verdicts == ["correct"]
    assert delivery.published == 2 * PUBLICATIONS
    assert delivery.expected > 600
    assert delivery.optional > 0, "Bob was leaving"


def test_a_dropped_notification_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    DropsEveryHundredth.counted = 0
    delivery, dropped = judged(tmp_path, monkeypatch, DropsEveryHundredth)
    assert delivery.verdicts == ["lost"]
    assert (delivery.lost, delivery.duplicate, delivery.spurious) == (len(dropped), 0, 0)
    assert len(dropped) > 5
    assert [example.publication for example in delivery.examples] == dropped[:10]
    assert all(example.paths[0][0] in PUBLISHERS.values() for example in delivery.examples)


def test_what_is_forwarded_twice_is_duplicated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    delivery, doubled = judged(tmp_path, monkeypatch, ForwardsTwice)
    assert delivery.verdicts == ["duplicated"]
    assert delivery.duplicate > 10
    assert {example.publication for example in delivery.examples} <= set(doubled)
    assert all(len(example.paths) == 2 for example in delivery.examples), "both ways are shown"


def test_an_unsubscription_that_is_ignored_makes_spurious_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    delivery, ignored = judged(tmp_path, monkeypatch, IgnoresUnsubscriptions)
    assert delivery.verdicts == ["spurious"]
    assert ignored
    assert set(delivery.spurious_causes) == {"subscription withdrawn"}
    assert {example.client for example in delivery.examples} == {"Bob"}


def test_two_that_are_swapped_are_reordered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    delivery, swapped = judged(tmp_path, monkeypatch, SwapsTwo)
    assert delivery.verdicts == ["reordered"]
    assert {example.publication for example in delivery.examples} == set(swapped)
    assert {example.detail for example in delivery.examples} == {
        "a later publication of the same publisher reached the client before"
    }


def test_where_routing_promises_no_order_swaps_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    delivery, swapped = judged(tmp_path, monkeypatch, SwapsTwo, "dynamic")
    assert (delivery.verdicts, delivery.reordered) == (["correct"], 0)
    assert delivery.overtaken >= len(swapped)


def test_a_notification_too_many_is_spurious(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    delivery, widened = judged(tmp_path, monkeypatch, DeliversToAll)
    assert delivery.verdicts == ["spurious"]
    assert delivery.spurious == len(widened) > 10
    assert set(delivery.spurious_causes) == {"no subscription matches"}
