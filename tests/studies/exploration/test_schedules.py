"""Fault schedules: near an operation, every fault may strike its broker, and some heal while the run goes on."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, islice
from random import Random

import pytest

from record.handover import Handover
from scenario.sections.faults import FaultItem
from studies.exploration.draws import seconds
from studies.exploration.schedules import Schedules, Struck
from studies.exploration.sites import SiteInRun
from studies.exploration.smaller_sites import named_by
from studies.exploration.surroundings import Shape, Surroundings
from tests.studies.exploration.inside import explored
from tests.studies.exploration.planted import PLANTED

BROKERS = ("B1", "B2", "B3")
END = seconds(10)
SITES = (SiteInRun("site1", ("B1",), ("S1",)), SiteInRun("site2", ("B2",), ("S2",)))


def drawn(at: int, *near: str) -> list[FaultItem]:
    return drawn_of((), at, *near)


def drawn_of(sites: Sequence[SiteInRun], at: int, *near: str) -> list[FaultItem]:
    struck = Struck(BROKERS, tuple(combinations(BROKERS, 2)), sites)
    schedules = Schedules.of(Random(1), Surroundings(Shape.FULL, "medym"), struck, END).near(*near)
    return [FaultItem.model_validate(schedules.one(at)) for _ in range(200)]


def test_a_broker_is_cut_off_from_all_others_near_its_operation() -> None:
    sides = {fault.partition[0] for fault in drawn(0, "B2") if fault.partition}
    assert sides == {("B2",)}


def test_faults_heal_while_the_run_goes_on_however_late_they_come() -> None:
    at = seconds(9.5)
    healed = [fault for fault in drawn(at, *BROKERS) if fault.lasts and at + seconds(fault.lasts) <= END]
    assert len(healed) > 30


def test_sites_and_their_clients_fail_and_move_in_every_way() -> None:
    found = drawn_of(SITES, 0)
    of_sites = [fault for fault in found if named_by(fault) & {"site1", "site2", "S1", "S2"}]
    assert {fault.verb for fault in of_sites} == {
        "crash", "vanish", "pause", "link_down", "flap", "degrade", "corrupt", "move",
    }  # fmt: skip
    moves = [fault for fault in of_sites if fault.move]
    assert {fault.handover for fault in moves} == {None, Handover.ANNOUNCED, Handover.MAKE_BEFORE_BREAK}
    assert {fault.to for fault in moves} == {*BROKERS, "site1", "site2"}
    assert any(fault.away for fault in moves) and any(fault.overlap for fault in moves)
    assert 50 < len(of_sites) < 150


def test_near_a_client_its_site_is_struck() -> None:
    of_sites = [named_by(fault) & {"site1", "site2", "S1", "S2"} for fault in drawn_of(SITES, 0, "B3", "S2")]
    assert {name for names in of_sites for name in names} == {"site2", "S2"} | {"site1"}
    assert all("site2" in names or "S2" in names for names in of_sites if names)


def test_faults_follow_a_site_that_has_moved() -> None:
    struck = Struck(BROKERS, (), SITES)
    schedules = Schedules.of(Random(1), Surroundings(Shape.FULL, "medym"), struck, END)
    moved = schedules.after({"move": ["site1"], "to": "B3"})
    cut = [name for _ in range(200) for name in moved.one(0).get("link_down", ())]
    assert any("site1" in name and "B3" in name for name in cut)


@pytest.mark.proof
def test_duplicates_after_a_long_cut_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    planted = PLANTED["medym forgets by age"]
    planted.plant(monkeypatch)
    runs = islice(explored(planted.surroundings, 0), 200)
    assert any(planted.kinds & set(run.kinds) for run in runs)
