"""Exploration: the same seed explores the same, and what is found is kept as files that repeat it."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import cast
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from command_line.commands.explore import ExplorationRequest, explore_around, finding_lines, progress_line
from command_line.program import app
from record.errors import BadInputError
from record.exit_codes import ExitCode
from scenario.loading import load
from studies.exploration.directory import case_command
from studies.exploration.drawing import Drawing
from studies.exploration.exploration import Account, Budget, Exploration
from studies.exploration.judged_run import Defect, judging_room
from studies.exploration.mutation import Parent
from studies.exploration.saved import Subject, save_account, saved_account
from studies.exploration.sentences import account_lines
from studies.exploration.surroundings import Shape, Surroundings
from studies.exploration.workers import Explored, Explorer, Reduced, Suspect, Workers, unshrunk, workers
from tests.studies.exploration.faulty import protocol_with

LINE = Path("scenarios/line-3.yaml")


def request(protocol: Path, out: Path) -> ExplorationRequest:
    return ExplorationRequest(
        file=LINE, budget=Budget(runs=6), seed=1, protocol=str(protocol), workers=1, out=out, junit=out / "junit.xml"
    )  # fmt: skip


def subject(protocol: Path, file: Path = LINE) -> Subject:
    scenario = load(file)
    return Subject.of(scenario.name, Surroundings.of(scenario, str(protocol)), 1)


def test_a_finding_is_a_scenario_that_shows_it(tmp_path: Path) -> None:
    found = explore_around(request(protocol_with("notifies twice", tmp_path), tmp_path))
    assert found is ExitCode.VIOLATED
    with judging_room() as room:
        for name in ("scenario.yaml", "found.yaml"):
            assert "duplicated" in room.judged(load(tmp_path / "finding-1" / name)).kinds
    (case,) = ElementTree.parse(tmp_path / "junit.xml").iter("failure")
    assert case.get("message") == "duplicated, without a fault"
    (finding,) = saved_account(tmp_path, subject(tmp_path / "faulty.py")).findings.values()
    assert f"as a case: {case_command(finding, tmp_path)}" in (case.text or "")
    command = shlex.split(case_command(finding, tmp_path))[1:]
    assert CliRunner().invoke(app, command).exit_code == ExitCode.VIOLATED
    page = (tmp_path / "report" / "index.html").read_text()
    assert "finding-1" in page
    assert "<svg" in page


def test_a_run_that_ends_its_process_is_a_finding(tmp_path: Path) -> None:
    assert explore_around(request(protocol_with("ends the process", tmp_path), tmp_path)) is ExitCode.VIOLATED
    (finding,) = saved_account(tmp_path, subject(tmp_path / "faulty.py")).findings.values()
    assert [(defect.kind, defect.detail) for defect in finding.defects] == [
        ("process ended", f"explored run {finding.number}: its process ended with code 3")
    ]
    assert any(item.verb == "publish" for item in finding.scenario.workload.operations)
    sign = "look for: the end of the command without a verdict, because it simulates the run in its own process"
    assert f"  {sign}" in finding_lines(finding, tmp_path)
    (case,) = ElementTree.parse(tmp_path / "junit.xml").iter("failure")
    assert sign in (case.text or "")
    assert f"L{sign[1:]}" in (tmp_path / "report" / "index.html").read_text()


def test_one_run_with_one_kind_of_behaviour_is_told_in_the_singular() -> None:
    account = Account(runs=1, processor=1.0, seen=Counter({"joined": 1}))
    assert {"seen: 1 kind of behaviour", "no findings"} <= set(account_lines(account))
    assert progress_line(account) == "1 run, 0.0 a second; 1 kind of behaviour; no findings"


class EndlessShrinking:
    """Workers of which one explores and is at the shrinking of what it found for ever."""

    busy = True

    def __init__(self, explored: Explored) -> None:
        self._explored = [explored]
        self.idle, self._looks = True, 0

    def begin(self, number: int, request: object) -> None:
        self.idle = False

    def ended(self, seconds: float) -> list[Explored]:
        self._looks += 1
        assert self._looks < 10
        ended, self._explored = self._explored, []
        self.idle = bool(ended)
        return ended


def test_what_cannot_be_shrunk_in_time_is_kept_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("studies.exploration.exploration.LONGEST_SHRINKING", 0.0)
    explorer = Explorer(Drawing(Surroundings(Shape.TREE, "tid")), 1)
    exploration = Exploration(explorer, Budget(seconds=1e-9))
    exploration.explore(cast("Workers", EndlessShrinking(explorer.unfinished(0, None, "killed"))))
    (finding,) = exploration.account.findings.values()
    assert finding.scenario == finding.found


class TwoAtOnce:
    """Two workers, of which the one ends that has begun first. Every run shows two kinds of defects of its own."""

    def __init__(self, explorer: Explorer) -> None:
        self._explorer = explorer
        self._running: dict[int, Suspect | None] = {}

    @property
    def idle(self) -> bool:
        return len(self._running) < 2

    @property
    def busy(self) -> bool:
        return bool(self._running)

    def begin(self, number: int, request: Suspect | None) -> None:
        assert number not in self._running
        self._running[number] = request

    def ended(self, seconds: float) -> Iterator[Explored | Reduced]:
        number = next(iter(self._running))
        if (suspect := self._running.pop(number)) is not None:
            yield unshrunk(suspect)
        else:
            defects = tuple(Defect(f"{kind} {number}", "") for kind in ("lost", "doubled"))
            yield replace(self._explorer.unfinished(number, None, ""), defects=defects)


def test_findings_that_are_shrunk_side_by_side_are_not_taken_for_each_other() -> None:
    explorer = Explorer(Drawing(Surroundings(Shape.TREE, "tid")), 1)
    exploration = Exploration(explorer, Budget(runs=2))
    exploration.explore(cast("Workers", TwoAtOnce(explorer)))
    assert {cause.kind for cause in exploration.account.findings} == {"lost 0", "doubled 0", "lost 1", "doubled 1"}


def test_no_time_is_no_exploration(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["explore", str(LINE), "--for", "0", "--out", str(tmp_path)])
    assert isinstance(result.exception, BadInputError)
    assert "--for 0: leaves no time for a run" in str(result.exception)


def test_an_exploration_does_not_go_on_with_that_of_another_scenario(tmp_path: Path) -> None:
    save_account(Account(runs=6), subject(Path("tid")), tmp_path)
    assert saved_account(tmp_path, subject(Path("tid"))).runs == 6
    other = replace(request(Path("tid"), tmp_path), file=Path("scenarios/quickstart.yaml"), protocol="tid")
    with pytest.raises(BadInputError) as refused:
        explore_around(other)
    assert str(refused.value) == (
        f"--out {tmp_path}: has an exploration of another kind: scenario line-3, not quickstart;"
        " choose another directory"
    )


def test_the_first_difference_of_two_explorations_is_named() -> None:
    explored = Subject.of("line", Surroundings(Shape.TREE, "tid", {"interval": "5ms"}), 1)
    for other, difference in (
        (Subject.of("line", Surroundings(Shape.TREE, "tid", {"interval": "5ms"}), 1), ""),
        (Subject.of("line", Surroundings(Shape.TREE, "tid", {"interval": "5ms"}), 2), "seed 1, not 2"),
        (Subject.of("line", Surroundings(Shape.FULL, "tid", {"interval": "5ms"}), 1), "overlay tree, not full"),
        (
            Subject.of("line", Surroundings(Shape.TREE, "tid", {}), 1),
            "options {'interval': '5ms'}, not {}",
        ),
    ):
        assert explored.difference(other) == difference


@pytest.mark.proof
def test_an_exploration_goes_on_where_it_ended(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    protocol = protocol_with("notifies twice", tmp_path)
    first = request(protocol, tmp_path)
    explore_around(first)
    before = saved_account(tmp_path, subject(protocol)).seconds
    explore_around(replace(first, budget=Budget(runs=9)))
    assert "going on after 6 runs with 1 finding\n" in capsys.readouterr().out
    account = saved_account(tmp_path, subject(protocol))
    assert account.runs == 9
    assert account.seconds > before > 0
    assert len(account.findings) == 1


def test_only_a_drawn_run_has_moments_because_it_alone_is_changed() -> None:
    explorer = Explorer(Drawing(Surroundings(Shape.TREE, "tid")), 1)
    with judging_room() as room:
        drawn = explorer.explored(0, room)
        changed = explorer.explored(1, room, Parent(drawn.scenario, drawn.moments))
    assert drawn.moments
    assert not changed.moments


def test_an_honest_protocol_shows_nothing(tmp_path: Path) -> None:
    assert explore_around(request(protocol_with("none", tmp_path), tmp_path)) is ExitCode.CORRECT


def test_only_failures_of_code_have_an_exit_code_of_their_own(tmp_path: Path) -> None:
    assert explore_around(request(protocol_with("fails", tmp_path), tmp_path)) is ExitCode.BROKER_DEFECT


@pytest.mark.proof
def test_the_same_seed_explores_the_same(tmp_path: Path) -> None:
    explorer = Explorer(Drawing(Surroundings(Shape.TREE, str(protocol_with("keeps subscriptions", tmp_path)))), 3)
    accounts = []
    for _ in range(2):
        with workers(1, explorer) as at:
            exploration = Exploration(explorer, Budget(runs=12))
            exploration.explore(at)
            accounts.append(exploration.account)
    first, second = accounts
    assert first.runs == second.runs == 12
    assert [(found.number, found.scenario, found.defects) for found in first.findings.values()] == [
        (found.number, found.scenario, found.defects) for found in second.findings.values()
    ]
    assert first.findings
