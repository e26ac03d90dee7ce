"""Whatever is done by hand is planned as the scenario that then has it plans it."""

from __future__ import annotations

import pytest

from emulation.held.by_hand import SPREADS, ByHand
from emulation.held.requests import PublishRequest, SubscribeRequest, UnsubscribeRequest
from record.errors import BadInputError, HostError
from record.time_units import MILLISECOND, SECOND
from scenario.faults import plan as plan_faults
from scenario.loading import load_text
from scenario.workload.generate import generate
from tests.emulation.held.scenarios import LINE

LEAD = SECOND // 5
CONTENT = "[class,'STOCK'],[price,50]"


def by_hand() -> ByHand:
    return ByHand(load_text(LINE, "line").variants()[0].scenario, "process", lead=LEAD, grain=MILLISECOND)


def test_faults_become_entries_of_the_scenario() -> None:
    hand = by_hand()
    made = [hand.fault({"kill": ["B2"], "for": "2s"}, 5 * SECOND), hand.fault({"link_down": ["B1-B2"]}, 6 * SECOND)]
    made += hand.heal(["B2", "B1-B2"], 8 * SECOND) + hand.heal([], 9 * SECOND)
    assert [fault.verb for fault in hand.scenario.faults] == ["kill", "link_down", "restart", "link_up", "heal"]
    timeline = hand.scenario.timeline
    planned = plan_faults(
        hand.scenario.faults, hand.scenario.overlay(), join=timeline.join, run=timeline.run, seed=hand.scenario.seed
    )
    assert list(planned.entries) == made
    assert [fault.start for fault in made] == [5 * SECOND, 6 * SECOND, 8 * SECOND, 8 * SECOND, 9 * SECOND]


def test_what_cannot_be_is_refused_and_leaves_nothing() -> None:
    hand = by_hand()
    for fields, problem in (
        ({"kill": "B9"}, "no broker 'B9'"),
        ({"kill": "B1", "delay": "5ms"}, "does not belong to kill"),
        ({"move": ["S1"], "to": "B2"}, "this scenario has no sites"),
        ({"explode": "B1"}, "explode"),
        ({"heal": "all"}, "nothing to heal"),
    ):
        with pytest.raises(BadInputError, match=problem):
            hand.fault(dict(fields), SECOND)
    with pytest.raises(HostError, match="process cannot do"):
        hand.fault({"slow": "B1", "cpu": "0.5"}, SECOND)
    with pytest.raises(BadInputError, match="nothing on B1 can be healed by itself"):
        hand.heal(["B1"], SECOND)
    with pytest.raises(BadInputError, match="B9"):
        hand.publish(PublishRequest("B9", CONTENT), SECOND)
    with pytest.raises(BadInputError, match="expected"):
        hand.publish(PublishRequest("B1", "[class,"), SECOND)
    with pytest.raises(BadInputError):
        hand.subscribe(SubscribeRequest("B1", "[class,'STOCK'"), SECOND)
    with pytest.raises(BadInputError, match="no subscription"):
        hand.unsubscribe(UnsubscribeRequest("S1"), SECOND)
    assert hand.scenario == load_text(LINE, "line").variants()[0].scenario
    assert (hand.operations, hand.faults) == ([], 0)


def test_operations_are_those_that_the_scenario_then_has() -> None:
    hand = by_hand()
    made = [hand.subscribe(SubscribeRequest("B3", "[class,eq,'STOCK']"), 5 * SECOND)]
    made += hand.publish(PublishRequest("B1", CONTENT), 6 * SECOND)
    made += hand.publish(PublishRequest("B1", "[class,'STOCK'],[price,51]"), 9 * SECOND)
    made += hand.publish(PublishRequest("B1", "[class,'X']", advertise="[class,eq,'X']"), 10 * SECOND)
    made.append(hand.unsubscribe(UnsubscribeRequest("by-hand-B3-1"), 15 * SECOND))
    assert [(each.operation.value, each.id) for each in made] == [
        ("subscribe", "s1"), ("advertise", "a1"), ("publish", "by-hand-B1:1"), ("publish", "by-hand-B1:2"),
        ("advertise", "a2"), ("publish", "by-hand-B1:3"), ("unsubscribe", "s1"),
    ]  # fmt: skip
    lead, spreads = LEAD, round(SPREADS * SECOND)
    assert [each.at for each in made[:4]] == [
        5 * SECOND + lead, 6 * SECOND + lead, 6 * SECOND + lead + spreads, 9 * SECOND + lead,
    ]  # fmt: skip
    planned = generate(hand.scenario, hand.scenario.overlay()).operations()
    assert [each for each in planned if each.client.startswith("by-hand")] == made == hand.operations


def test_an_unsubscription_is_not_made_twice() -> None:
    hand = by_hand()
    hand.subscribe(SubscribeRequest("B3", "[class,eq,'STOCK']"), SECOND)
    hand.unsubscribe(UnsubscribeRequest("by-hand-B3-1"), 2 * SECOND)
    with pytest.raises(BadInputError, match="no subscription"):
        hand.unsubscribe(UnsubscribeRequest("by-hand-B3-1"), 3 * SECOND)


def test_each_subscription_is_of_a_client_of_its_own() -> None:
    hand = by_hand()
    first = hand.subscribe(SubscribeRequest("B3", "[class,eq,'STOCK']"), SECOND)
    hand.unsubscribe(UnsubscribeRequest(first.client), 2 * SECOND)
    assert hand.subscribe(SubscribeRequest("B3", "[class,eq,'STOCK']"), 3 * SECOND).client == "by-hand-B3-2"


def test_a_publication_waits_for_the_advertisement_before_it() -> None:
    hand = by_hand()
    *_, first = hand.publish(PublishRequest("B1", CONTENT), 5 * SECOND)
    (second,) = hand.publish(PublishRequest("B1", "[class,'STOCK'],[price,51]"), 5 * SECOND + 1)
    assert (second.at, second.id, second.attributes) == (first.at, "by-hand-B1:2", {"class": "STOCK", "price": 51})


def test_a_saved_run_is_held_again() -> None:
    hand = by_hand()
    hand.subscribe(SubscribeRequest("B3", "[class,eq,'STOCK']"), SECOND)
    hand.publish(PublishRequest("B1", CONTENT), 2 * SECOND)
    again = ByHand(hand.scenario, "process", lead=LEAD, grain=MILLISECOND)
    assert again.subscribe(SubscribeRequest("B3", "[class,eq,'STOCK']"), 6 * SECOND).client == "by-hand-B3-2"
    (published,) = again.publish(PublishRequest("B1", CONTENT), 7 * SECOND)
    assert published.id == "by-hand-B1:2", "its client has advertised before"
