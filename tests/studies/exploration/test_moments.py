"""Moments: a fault that is put at a record of a run comes at that very record."""

from __future__ import annotations

from random import Random

import pytest

from record.log import EMULATOR, Event, TraceRecord
from scenario.sections.faults import FaultItem
from studies.exploration.coverage import features_of
from studies.exploration.drawing import Drawing, is_sound
from studies.exploration.draws import written
from studies.exploration.findings import moments_in_words
from studies.exploration.judged_run import judging_room
from studies.exploration.moments import all_moments, moments_of
from studies.exploration.mutation import Mutation, Parent
from studies.exploration.surroundings import Shape, Surroundings

TREE = Surroundings(Shape.TREE, "tid")


def record(event: Event, *, peer: str | None = None, kind: str | None = None) -> TraceRecord:
    return TraceRecord(time=1, node="B2", variant="base", event=event, peer=peer, kind=kind)


def test_a_fault_comes_at_the_record_that_it_was_put_to() -> None:
    scenario = Drawing(TREE).drawn(Random(7)).model_copy(update={"faults": ()})
    with judging_room() as room:
        calm = room.judged(scenario)
        moments = moments_of(calm.records, calm.begin, Random(1))
        moment = next(one for one in moments if "sent the first publish to" in one.words)
        fault = FaultItem.model_validate({"at": written(moment.at), "kill": [moment.node], "for": "1s"})
        struck = room.judged(scenario.model_copy(update={"faults": (fault,)}))
    time = calm.begin + moment.at
    before = [[each for each in run.records if each.time < time and each.node != EMULATOR] for run in (calm, struck)]
    assert before[0] == before[1]
    kill = scenario.model_copy(update={"faults": (fault,)})
    assert list(moments_in_words(kill, (moment,))) == [f"kill of {moment.node} when {moment.words}"]
    killed = next(each for each in struck.records if each.event == "fault")
    assert killed.time == time
    assert any(each.time == time and each.event == "sent" for each in struck.records)


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (record(Event.SENT, peer="B3", kind="publish"), "B2 sent the first publish to B3"),
        (record(Event.LINK_DOWN, peer="B3"), "B2 logged the first link_down of B3"),
        (record(Event.DELIVERED, kind="publish"), "B2 logged the first delivered publish"),
    ],
)
def test_a_moment_is_told_in_a_sentence(told: TraceRecord, words: str) -> None:
    first, later = all_moments([told, told], begin=0)
    assert first.words == words
    thing = words.partition("the first ")[2].partition(" to ")[0].partition(" of ")[0]
    assert later.words == words.replace(f"the first {thing}", f"{thing} number 2")


def test_a_changed_run_is_one_that_scenarios_may_be() -> None:
    scenario = Drawing(TREE).drawn(Random(7))
    with judging_room() as room:
        run = room.judged(scenario)
    parent = Parent(scenario, moments_of(run.records, run.begin, Random(1)))
    changed = [Mutation(parent, TREE, Random(number)).mutated() for number in range(20)]
    assert all(one is not None and is_sound(one) and one != scenario for one in changed)
    assert Mutation(parent, TREE, Random(3)).mutated() == Mutation(parent, TREE, Random(3)).mutated()


def test_features_name_what_happened_and_neither_broker_nor_number() -> None:
    scenario = Drawing(TREE).drawn(Random(7))
    with judging_room() as room:
        features = features_of(room.judged(scenario))
    assert any("sent publish" in feature for feature in features)
    assert not any("B1" in feature for feature in features)
