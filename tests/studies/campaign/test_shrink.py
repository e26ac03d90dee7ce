"""Smallest failing schedules: the algorithm against its promise, and schedules that keep hitting what they hit."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_service.client_library.client_requests import ClientRequests
from broker_service.language import Publication
from broker_service.messages import ClientId, Message
from broker_service.routing import registry
from broker_service.routing.interface import Actions, Deliver, Router
from record.errors import BadInputError
from scenario.faults import CountReached, FaultSchedule, Moment, Phase
from scenario.loading import load_text
from scenario.sections.faults import FaultItem
from studies.campaign import CampaignCell, CampaignResult, cells, load_campaign
from studies.campaign.shrink import NotReproducedError, resolved, shrink
from studies.smallest_part import smallest
from tests.broker_service.wrapped import WrappedRouter
from tests.studies.campaign.made_up import result, write_campaign
from tests.studies.cells.here import run_here

FAULTS = """\
name: hard
scenario: little.yaml
set: {routing.publications: dynamic}
seeds: [3]
faults:
  many:
    - {at: run+1s, kill: random(2), for: 1s}
    - {at: run+2s, link_down: busiest}
    - {at: run+3s, pause: hub, for: 1s}
    - {at: run+4s, partition: [random(2), rest], for: 1s}
    - {at: run+5s, link_up: busiest}
    - {at: run+6s, degrade: random-link, delay: 9ms, for: 1s}
"""


@given(needed=st.sets(st.integers(0, 24)), count=st.integers(25, 40))
def test_faults_that_it_takes_together(needed: set[int], count: int) -> None:
    asked: list[tuple[int, ...]] = []

    def fails(chosen: Sequence[int]) -> bool:
        asked.append(tuple(chosen))
        return needed <= set(chosen)

    assert smallest(range(count), fails) == tuple(sorted(needed))
    assert len(asked) == len(set(asked))


@given(
    combinations=st.lists(st.sets(st.integers(0, 9), min_size=1, max_size=4), min_size=1, max_size=4),
    broken=st.sets(st.integers(0, 9), max_size=2),
)
def test_any_failing_part_can_lose_no_single_fault(combinations: list[set[int]], broken: set[int]) -> None:
    """Also where several combinations fail, and where a schedule without some fault cannot be run at all."""

    def fails(chosen: Sequence[int]) -> bool:
        whole = len(chosen) == 10
        runs = whole or len(broken & set(chosen)) != 1
        return runs and any(combination <= set(chosen) for combination in combinations)

    found = smallest(range(10), fails)
    assert fails(found)
    assert not any(fails(found[:place] + found[place + 1 :]) for place in range(len(found)))


def hard_cell(directory: Path) -> CampaignCell:
    file = write_campaign(directory, FAULTS)
    (cell,) = cells(load_campaign(file), file)
    return cell


def test_faults_keep_hitting_what_they_hit(tmp_path: Path) -> None:
    """Names take the place of roles and of `random`, and what happens is the same."""
    cell = hard_cell(tmp_path)
    (variant,) = cell.plan().variants
    faults = tuple(resolved(variant))
    assert [fault.verb for fault in faults] == [
        "kill", "kill", "link_down", "pause", "partition", "link_up", "degrade",
    ]  # fmt: skip
    same = load_text(cell.scenario, "cell").model_copy(update={"faults": faults})
    text = json.dumps(same.resolved())
    (again,) = replace(cell, scenario=text).plan().variants
    assert _happenings(again.schedule()) == _happenings(variant.schedule())


def _happenings(schedule: FaultSchedule) -> set[tuple[int | CountReached, str]]:
    """The beginning of each condition."""
    return {(entry.start, str(condition)) for entry, condition in schedule.conditions}


def _fails_if(condition: Callable[[tuple[str, ...]], bool]) -> Callable[[CampaignCell], CampaignResult]:
    def run(cell: CampaignCell) -> CampaignResult:
        verbs = tuple(fault.verb for fault in load_text(cell.scenario, "cell").faults)
        return result(cell, "lost" if condition(verbs) else "correct")

    return run


def test_a_cell_shrinks_to_the_faults_it_takes(tmp_path: Path) -> None:
    cell = hard_cell(tmp_path)
    ran: list[str] = []

    def run(candidate: CampaignCell) -> CampaignResult:
        ran.append(candidate.key)
        return _fails_if(lambda verbs: "pause" in verbs and "kill" in verbs)(candidate)

    found = shrink(cell, result(cell, "lost"), run)
    assert sorted(fault.verb for fault in found.faults) == ["kill", "pause"]
    assert found.before == 7
    assert found.runs == len(ran) == len(set(ran))
    assert found.result.delivery == ["lost"]


def test_what_is_needed_to_heal_stays(tmp_path: Path) -> None:
    """`link_up` cannot be without something that cut the link before: such a schedule is not run at all."""
    cell = hard_cell(tmp_path)
    found = shrink(cell, result(cell, "lost"), _fails_if(lambda verbs: "link_up" in verbs))
    cut, healed = (fault.verb for fault in found.faults)
    assert cut in {"link_down", "partition"}
    assert healed == "link_up"


def test_another_defect_is_another_failure(tmp_path: Path) -> None:
    cell = hard_cell(tmp_path)
    with pytest.raises(NotReproducedError, match=r"many-3: was lost, and is duplicated when it is run again"):
        shrink(cell, result(cell, "lost"), lambda candidate: result(candidate, "duplicated"))


def test_a_run_that_is_invalid_shows_nothing(tmp_path: Path) -> None:
    cell = hard_cell(tmp_path)
    with pytest.raises(NotReproducedError):
        shrink(cell, result(cell, "lost"), lambda candidate: result(candidate, "lost", "INVALID"))


def test_nothing_to_shrink(tmp_path: Path) -> None:
    cell = hard_cell(tmp_path)
    with pytest.raises(BadInputError, match="delivery was correct"):
        shrink(cell, result(cell), result)


MOVES = """\
name: moves
scenario: little.yaml
set:
  routing.publications: dynamic
  clients:
    sites: {berlin: {broker: B1, clients: S1}, oslo: {broker: B2, clients: [S2, S3]}, rome: {broker: B3, clients: []}}
    roaming: {rate: 1/s, sites: berlin, away: 100ms..1s}
seeds: [3]
faults:
  many:
    - {at: run+8s, move: oslo, to: B3, handover: make before break, overlap: 3s}
    - {at: run+2s, move: "random-client(2)", to: rome, away: 2s}
"""


def test_moves_shrink_to_the_simplest_that_fails(tmp_path: Path) -> None:
    """Drawn moves as well as planned ones; a cell fails by a time away, a soft handover, or a move to a broker."""
    file = write_campaign(tmp_path, MOVES)
    (cell,) = cells(load_campaign(file), file)
    drawn = len(cell.plan().variants[0].roaming)
    assert drawn > 3

    def found(fails: Callable[[FaultItem], bool]) -> FaultItem:
        def run(candidate: CampaignCell) -> CampaignResult:
            variant = candidate.plan().variants[0]
            assert not variant.roaming
            return result(candidate, "lost" if any(map(fails, variant.scenario.faults)) else "correct")

        shrunk = shrink(cell, result(cell, "lost"), run)
        assert shrunk.before == 1 + 2 + drawn
        (fault,) = shrunk.faults
        return fault

    hard = found(lambda fault: fault.move == ("oslo",))
    assert (hard.handover, hard.overlap) == (None, None)
    assert hard.at == Moment(0.125, Phase.RUN)
    away = found(lambda fault: (fault.away or 0) >= 0.3 and fault.to == "rome")
    assert away.away == 0.5
    soft = found(lambda fault: fault.handover is not None)
    assert soft.overlap == 0.188
    assert found(lambda fault: fault.move == ("berlin",) and fault.to == "B4").away is None


@pytest.mark.proof
def test_a_defect_of_moves_shrinks_to_one_drawn_move(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the simulator: clients that move do not declare anew what they had declared, so that brokers lose it."""
    monkeypatch.setattr(ClientRequests, "_all_declared", lambda _: iter(()))
    file = write_campaign(
        tmp_path,
        """\
name: forgetful
scenario: little.yaml
set:
  routing.publications: fixed
  timeline.run: 8s
  clients: {sites: {berlin: {broker: B1, clients: S1}}, roaming: {rate: 1/s, away: 100ms..1s}}
  brokers.limits.heartbeat: 100ms
seeds: [3]
faults: {none: [], slow: [{at: run+1s, degrade: random-link, delay: 9ms, for: 1s}]}
""",
    )
    cell = cells(load_campaign(file), file)[1]
    failed = run_here(cell, tmp_path / "first")
    assert "not renewed" in failed.delivery
    found = shrink(cell, failed, lambda candidate: run_here(candidate, tmp_path / candidate.key))
    (fault,) = found.faults
    assert found.before > 2
    assert (fault.move, fault.handover, fault.away) == (("berlin",), None, None)
    assert "not renewed" in found.result.delivery or "lost" in found.result.delivery


class TwiceAfterALoss(WrappedRouter):
    """A router, broken on purpose: once it has lost a neighbour, its clients get every publication twice."""

    def __init__(self, router: Router) -> None:
        super().__init__(router)
        self._lost = False

    def link_down(self, neighbour: str) -> Actions:
        self._lost = True
        return self._router.link_down(neighbour)

    def publish(self, client: ClientId, message: Message, publication: Publication, advertisement: str) -> Actions:
        return self._spoiled(self._router.publish(client, message, publication, advertisement))

    def receive(self, neighbour: str, message: Message) -> Actions:
        return self._spoiled(self._router.receive(neighbour, message))

    def _spoiled(self, actions: Actions) -> Actions:
        again = [action for action in actions if self._lost and isinstance(action, Deliver)]
        return [*actions, *again]


def test_a_real_failure_shrinks_to_the_fault_that_brings_it_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the simulator: links that are slow or damaged do no harm, a broker that is killed does."""
    good = registry.PROTOCOLS["tid"]
    broken = replace(good, router=lambda context: TwiceAfterALoss(good.router(context)))
    monkeypatch.setitem(registry.PROTOCOLS, "broken", broken)  # type: ignore[arg-type]
    file = write_campaign(
        tmp_path,
        """\
name: broken
scenario: little.yaml
set: {routing: {protocol: broken, publications: fixed}, workload.publications.rate: 10/s}
seeds: [5]
faults:
  three:
    - {at: run+1s, degrade: random-link(2), delay: 9ms, for: 1s}
    - {at: run+2s, kill: random, for: 1s}
    - {at: run+4s, corrupt: random-link, share: 1%, for: 1s}
""",
    )
    (cell,) = cells(load_campaign(file), file)
    failed = run_here(cell, tmp_path / "first")
    assert failed.delivery == ["duplicated"]
    found = shrink(cell, failed, lambda candidate: run_here(candidate, tmp_path / candidate.key))
    assert [fault.verb for fault in found.faults] == ["kill"]
    assert found.before == 4
    assert found.result.delivery == ["duplicated"]
