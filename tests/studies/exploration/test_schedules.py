"""Fault schedules: near an operation, every fault may strike its broker, and some heal while the run goes on."""

from __future__ import annotations

from itertools import combinations, islice
from random import Random

import pytest

from scenario.sections.faults import FaultItem
from studies.exploration.draws import seconds
from studies.exploration.schedules import Schedules
from studies.exploration.surroundings import Shape, Surroundings
from tests.studies.exploration.inside import explored
from tests.studies.exploration.planted import PLANTED

BROKERS = ("B1", "B2", "B3")
END = seconds(10)


def drawn(at: int, *near: str) -> list[FaultItem]:
    schedules = Schedules(
        Random(1), Surroundings(Shape.FULL, "medym"), BROKERS, tuple(combinations(BROKERS, 2)), END
    ).near(*near)  # fmt: skip
    return [FaultItem.model_validate(schedules.one(at)) for _ in range(200)]


def test_a_broker_is_cut_off_from_all_others_near_its_operation() -> None:
    sides = {fault.partition[0] for fault in drawn(0, "B2") if fault.partition}
    assert sides == {("B2",)}


def test_faults_heal_while_the_run_goes_on_however_late_they_come() -> None:
    at = seconds(9.5)
    healed = [fault for fault in drawn(at, *BROKERS) if fault.lasts and at + seconds(fault.lasts) <= END]
    assert len(healed) > 30


@pytest.mark.proof
def test_duplicates_after_a_long_cut_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    planted = PLANTED["medym forgets by age"]
    planted.plant(monkeypatch)
    runs = islice(explored(planted.surroundings, 0), 200)
    assert any(planted.kinds & set(run.kinds) for run in runs)
