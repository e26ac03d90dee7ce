"""Rehearsals: the turns and the ways of a few seconds, and nothing of them is written."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from emulation.planning.calibration import Calibration, HostCosts
from emulation.planning.plan import PUBLISHERS, SUBSCRIBERS, VariantPlan, make_plan
from emulation.prediction import rehearsal
from emulation.prediction.rehearsal import rehearse
from emulation.prediction.turns import Turn
from record.processors import RELAY
from scenario.loading import load_text
from topology.evolutions.evolution import Appears, Evolution, Vanishes
from topology.link_properties import Link

LINE = """
name: line
topology: {kind: line, brokers: 3, link: {delay: 10ms}}
routing: {protocol: tid}
workload:
  operations:
    - {at: 0s, client: P, broker: B1, id: a, advertise: "[class,eq,'STOCK']"}
    - {at: 1s, client: S, broker: B3, id: s, subscribe: "[class,eq,'STOCK']"}
    - {at: 3s, client: P, broker: B1, id: p, publish: "[class,'STOCK']"}
timeline: {join: 2s, run: 3s, drain: 1s}
"""
COSTS = Calibration(
    frame=100_000, work={"publish": 20_000}, host=HostCosts(relayed_frame=7_000, operation=5_000, notification=3_000)
)


def planned(text: str = LINE) -> VariantPlan:
    (variant,) = make_plan(load_text(text, "line.yaml")).variants
    return variant


RING = (
    LINE.replace("kind: line", "kind: ring")
    .replace("protocol: tid", "protocol: semi-probabilistic, threshold: 1")
    .replace("name: line", "name: ring")
)


def causes(turns: Sequence[Turn], place: int) -> list[Turn]:
    """A turn and all that it follows from, the first one first."""
    chain: list[Turn] = []
    while place >= 0:
        chain.insert(0, turns[place])
        place = turns[place].cause
    return chain


def test_one_publication_makes_a_turn_at_each_node_on_its_way() -> None:
    found = rehearse(planned(), COSTS)
    (way,) = found.ways
    turns = causes(found.turns, way.turn)
    assert [turn.node for turn in turns] == [PUBLISHERS, "B1", RELAY, "B2", RELAY, "B3", SUBSCRIBERS]
    assert [turn.work for turn in turns] == [5_000, 120_000, 7_000, 120_000, 7_000, 120_000, 3_000]
    assert found.seconds == 3.0
    assert way.delay == 20_000_000 + 3 * 120_000
    assert turns[0].ready + turns[0].work == 1_000_000_000, "seconds count from the start of the run phase"


def test_messages_over_access_links_have_turns_of_the_relay() -> None:
    far, everywhere = "sites: {far: {broker: B3, clients: S, delay: 4ms}}", "every_broker: {delay: 4ms}"
    (way,) = rehearse(planned(f"{LINE}clients: {{{far}}}\n"), COSTS).ways
    found = rehearse(planned(f"{LINE}clients: {{{everywhere}}}\n"), COSTS)
    (both,) = found.ways
    turns = causes(found.turns, both.turn)
    assert [turn.node for turn in turns] == [
        PUBLISHERS, RELAY, "B1", RELAY, "B2", RELAY, "B3", RELAY, SUBSCRIBERS,
    ]  # fmt: skip
    assert both.delay - way.delay == pytest.approx(4_000_000, abs=100_000)


@pytest.mark.parametrize(("vanishes", "brokers"), [(2.5, ["B1", "B2", "B3"]), (3.5, ["B1", "B3"])])
def test_links_vanish_at_their_times(vanishes: float, brokers: list[str]) -> None:
    variant = planned(RING)
    moving = replace(variant, evolution=Evolution(variant.overlay, (Vanishes(vanishes, "B1", "B3"),)))
    found = rehearse(moving, COSTS)
    (way,) = found.ways
    assert [turn.node for turn in causes(found.turns, way.turn) if turn.node.startswith("B")] == brokers
    assert rehearse(moving, COSTS) == found


def test_links_that_appear_carry_messages() -> None:
    variant = planned(LINE.replace("protocol: tid", "protocol: semi-probabilistic, threshold: 0"))
    link = Link("B1", "B3")
    moving = replace(variant, evolution=Evolution(variant.overlay, (Appears(2.5, link),)))
    assert not rehearse(variant, COSTS).ways, "the publisher's broker knows no subscriber next to it"
    (way,) = rehearse(moving, COSTS).ways
    assert way.delay < 10_000_000, "the new link has no delay"


def test_rehearsals_are_equal_and_leave_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert rehearse(planned(), COSTS) == rehearse(planned(), COSTS)
    assert not list(tmp_path.iterdir())


def test_a_rehearsal_of_much_traffic_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rehearsal, "MOST_TURNS", 1)
    assert rehearse(planned(), COSTS).seconds == 1.0, "three seconds otherwise"


def test_without_notifications_the_delay_is_not_known() -> None:
    found = rehearse(planned(LINE.replace("'STOCK']\"}\ntimeline", "'BOND']\"}\ntimeline")), COSTS)
    assert found.ways == () and math.isnan(found.delay)


def test_a_sample_of_publications_makes_fewer_records() -> None:
    text = LINE.replace("timeline:", "logs: {publications: 50%}\ntimeline:")
    whole, sampled = rehearse(planned(), COSTS), rehearse(planned(text), COSTS)
    assert sampled.turns == whole.turns, "the work is the same"
    assert sampled.records < whole.records
