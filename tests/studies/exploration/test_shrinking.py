"""Shrinking: little is left of a run, it still shows the defect, and findings of one cause are one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from scenario.model import Scenario
from scenario.sections.topology.explicit import ExplicitTopology
from studies.exploration.drawing import Drawing
from studies.exploration.exploration import Account
from studies.exploration.findings import Cause
from studies.exploration.judged_run import Defect, JudgedRun, JudgingRoom, judging_room
from studies.exploration.shrinking import Shrinking, Shrunk
from studies.exploration.surroundings import Shape, Surroundings
from studies.exploration.workers import Suspect, unshrunk
from tests.studies.exploration.faulty import protocol_with


@pytest.fixture
def room() -> Iterator[JudgingRoom]:
    with judging_room() as found:
        yield found


def shrunk(defect: str, kind: str, room: JudgingRoom, directory: Path) -> tuple[Scenario, Shrunk, Surroundings]:
    """A run that shows a defect, and what is left of it."""
    surroundings = Surroundings(Shape.TREE, str(protocol_with(defect, directory)))
    drawn = (Drawing(surroundings).drawn(Random(number)) for number in range(50))
    scenario = next(one for one in drawn if one.faults and kind in room.judged(one).kinds)
    found = Shrinking(surroundings, kind, room.judged).shrunk(scenario)
    assert found is not None
    return scenario, found, surroundings


@pytest.mark.proof
def test_little_is_left_and_it_shows_the_defect(room: JudgingRoom, tmp_path: Path) -> None:
    before, found, surroundings = shrunk("notifies twice", "duplicated", room, tmp_path)
    scenario = found.scenario
    assert "duplicated" in room.judged(scenario).kinds
    assert not scenario.faults
    assert not scenario.brokers.model_fields_set
    assert len(scenario.workload.operations) == 3 < len(before.workload.operations)
    assert isinstance(scenario.topology, ExplicitTopology)
    assert len(scenario.topology.links) <= 2
    assert all(item.at == round(item.at) for item in scenario.workload.operations)
    assert Cause.of("duplicated", scenario, surroundings) == Cause("duplicated", (), ())


def test_what_is_left_can_be_read_again() -> None:
    """A defect that every run shows would leave no operation, which no scenario may have."""
    surroundings = Surroundings(Shape.TREE, "tid")
    found = Shrinking(surroundings, "lost", lambda _: JudgedRun(defects=(Defect("lost", ""),))).shrunk(
        Drawing(surroundings).drawn(Random(1))
    )
    assert found is not None
    assert Scenario.model_validate(found.scenario.resolved()).workload.operations


def test_a_run_without_the_defect_is_not_shrunk(room: JudgingRoom) -> None:
    surroundings = Surroundings(Shape.TREE, "tid")
    scenario = Drawing(surroundings).drawn(Random(1)).model_copy(update={"faults": ()})
    assert Shrinking(surroundings, "lost", room.judged).shrunk(scenario) is None


def test_findings_of_one_cause_are_one() -> None:
    scenario = Drawing(Surroundings(Shape.TREE, "tid")).drawn(Random(1))
    account = Account()
    first, second = (unshrunk(Suspect(number, "lost", scenario, ())) for number in (1, 2))
    cause, other = Cause("lost", ("kill",), ()), Cause("lost", ("pause",), ())
    found = account.conclude(first, cause)
    assert found is not None
    assert account.conclude(second, cause) is None
    assert found.seen == 2
    assert account.conclude(second, other) is not None
