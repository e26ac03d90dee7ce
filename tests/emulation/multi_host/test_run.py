"""The controller's side of a run on two hosts; plays are stand-ins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import msgspec
import pytest

from emulation.ansible import Inventory, PlayCancelledError, Played, PlayError, TaskFailure, TaskResult
from emulation.host.room import Host
from emulation.host.run_paths import RunPaths
from emulation.multi_host import run
from emulation.multi_host.agent import Agent
from emulation.multi_host.check import Facts
from emulation.multi_host.gather import HOSTS
from emulation.multi_host.inventory import Hosts
from emulation.multi_host.model import read_share_request
from emulation.multi_host.run import HostsRequest, HostsRun
from emulation.planning.dilation import with_dilation
from emulation.planning.plan import make_plan
from emulation.run.interrupt import Interrupt
from record import manifest
from record.errors import HostError
from record.exit_codes import ExitCode
from record.host_speed import LoopTimes
from record.manifest import ChosenDilation, HostRecord, Manifest
from scenario.loading import load_text
from tests.emulation.multi_host.shares import MEMBERS, hand_in

SCENARIO = """
name: two
topology: {kind: line, brokers: 2}
routing: {protocol: tid}
workload:
  operations:
    - {at: 0s, client: P, broker: B1, id: a, advertise: "[class,eq,'STOCK']"}
timeline: {join: 1s, run: 1s, drain: 100s, withdraw: 10s}
"""
FACTS = Facts(
    links={"userspace": ""}, container="no Docker", vxlan="", address="", ways=[], room=Host(2, 8 << 30),
    loops=LoopTimes(interpreter=1),
)  # fmt: skip
DEFECT = "broker defect: B2 (protocol tid) failed"


@dataclass
class Plays:
    """Plays on two hosts, of which the second fails with this exit code while the first waits for it."""

    exit_code: int
    scratch: Path
    paths: RunPaths
    played: list[str] = field(default_factory=list)

    def __call__(
        self,
        playbook: str,
        _inventory: Inventory,
        _private: Path,
        _variables: Mapping[str, Any],
        *,
        cancelled: Callable[[], bool],
        on_failure: Callable[[TaskFailure], None] | None,
        **_: object,
    ) -> Played:
        self.played.append(playbook)
        match playbook:
            case "begin.yml":
                stdout = msgspec.json.encode(FACTS).decode()
                return Played(tuple(TaskResult(member.name, "examine", {"stdout": stdout}) for member in MEMBERS))
            case "run.yml":
                assert on_failure is not None and not cancelled()
                on_failure(TaskFailure("h2", "0 await drained", DEFECT, {"rc": self.exit_code}))
                assert cancelled()
                raise PlayCancelledError(playbook)
            case "end.yml":
                for number, member in enumerate(MEMBERS):
                    host = HostRecord(name=member.name)
                    share = Manifest(run_id="share", interrupted=number == 0, hosts=[host])
                    hand_in(self.paths, number, share, self.scratch)
        return Played(())


@pytest.fixture
def paths(tmp_path: Path) -> RunPaths:
    paths = RunPaths("run", tmp_path / "run", tmp_path / "sockets")
    paths.logs.mkdir(parents=True)
    return paths


def hosts_run(
    plays: Plays, monkeypatch: pytest.MonkeyPatch, scenario: str = SCENARIO, chosen: ChosenDilation | None = None
) -> tuple[HostsRun, list[str]]:
    """The run, and the lines that it prints."""
    monkeypatch.setattr(run, "play", plays)
    plan = make_plan(load_text(scenario, "two.yaml"))
    if chosen is not None:
        plan = with_dilation(plan, chosen)
    hosts = Hosts(Inventory({}, ("h1", "h2")), MEMBERS, vxlan_port=1, echo_port=2)
    request = HostsRequest(plan, hosts, "process", "userspace", plays.paths.directory)
    progress = MagicMock()
    lines: list[str] = []
    progress.print_line.side_effect = lines.append
    return HostsRun(request, MEMBERS, plays.paths, Interrupt(), progress), lines


def test_a_brokers_defect_on_one_host_is_the_outcome_of_all(
    paths: RunPaths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plays = Plays(ExitCode.BROKER_DEFECT, tmp_path, paths)
    hosts, lines = hosts_run(plays, monkeypatch)
    outcome = hosts.execute(lambda: None)
    assert outcome.defect == DEFECT
    assert not outcome.interrupted
    assert f"h2: {DEFECT}" in lines
    assert plays.played == ["begin.yml", "run.yml", "end.yml"]


def test_a_host_that_is_too_small_for_its_share_is_named_and_the_others_do_not_help(
    paths: RunPaths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts, _ = hosts_run(Plays(ExitCode.HOST, tmp_path, paths), monkeypatch)
    rooms = {"h1": Host(64, 1 << 40), "h2": Host(1, 300_000_000)}
    facts = {name: msgspec.structs.replace(FACTS, room=room) for name, room in rooms.items()}
    monkeypatch.setattr(run, "examined", lambda _: facts)
    with pytest.raises(HostError, match=r"^1 brokers take about 0\.4 GB of memory, and h2 has 0\.3 GB left"):
        hosts.execute(lambda: None)


def test_hosts_run_with_the_dilation_that_was_chosen(
    paths: RunPaths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = ChosenDilation(factor=3.0, variant="base", planned=2.0, kept=True)
    text = f"{SCENARIO}time_dilation: auto\n"
    hosts, _ = hosts_run(Plays(ExitCode.BROKER_DEFECT, tmp_path, paths), monkeypatch, text, chosen)
    hosts.execute(lambda: None)
    assert manifest.read(paths.directory).dilation == chosen
    for member in MEMBERS:
        share = read_share_request(paths.directory / HOSTS / member.name / "share.json")
        plan = Agent(share, paths.directory, MagicMock())._plan()
        assert plan.dilation == chosen and [variant.scenario.dilation for variant in plan.variants] == [3.0]


def test_another_failure_of_a_host_ends_the_run_on_all_with_its_message(
    paths: RunPaths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plays = Plays(ExitCode.HOST, tmp_path, paths)
    hosts, _ = hosts_run(plays, monkeypatch)
    with pytest.raises(PlayError, match=r"run.yml: h2: 0 await drained: broker defect"):
        hosts.execute(lambda: None)
    assert plays.played[-1] == "end.yml"


def test_a_host_waits_for_others_as_long_as_they_may_drain_and_settle(
    paths: RunPaths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host where no message moves is done at once, and one where messages move takes the whole time."""
    hosts, _ = hosts_run(Plays(ExitCode.BROKER_DEFECT, tmp_path, paths), monkeypatch)
    hosts.execute(lambda: None)
    for member in MEMBERS:
        share = read_share_request(paths.directory / HOSTS / member.name / "share.json")
        assert share.patience > run._PATIENCE + 100.0 + 10.0
