"""Twins of runs on real brokers: the same runs in virtual time, without dilation, whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulation.planning.plan import Plan, make_plan
from emulation.run.interrupt import Interrupt, Interrupted
from emulation.simulation import twin as twins
from emulation.simulation.run import simulate
from emulation.simulation.twin import simulate_twin, twin_plan
from record import manifest
from record.errors import BadInputError, HostError
from record.files import LOGS, log_files
from scenario.loading import load_text

SCENARIO = """
name: pair
topology: {kind: line, brokers: 2, link: {delay: 5ms, jitter: 10%}}
routing: {protocol: tid}
workload:
  publications: {source: stocks, publishers: 1, rate: 10/s}
  subscriptions: {subscribers: 2, selectivity: 50%}
timeline: {join: 1s, run: 1s, drain: 1s}
"""


def planned(more: str = "") -> Plan:
    return make_plan(load_text(SCENARIO + more, "pair"))


class Impatient(Interrupt):
    """Interrupts as soon as it is asked."""

    @property
    def asked(self) -> bool:
        return True

    def check(self) -> None:
        raise Interrupted


def logged(run: Path) -> dict[str, bytes]:
    return {log.name: log.read_bytes() for log in log_files(run / LOGS)}


def test_a_twin_does_what_the_simulated_run_does_which_is_never_dilated(tmp_path: Path) -> None:
    dilated = planned("time_dilation: 5\n")
    twin = simulate_twin(twin_plan(dilated), tmp_path).directory
    assert twin == tmp_path / dilated.run_id / "twin"
    stated = manifest.read(twin)
    assert stated.run_id == f"{dilated.run_id}/twin"
    assert stated.scenario["time_dilation"] == 1
    assert stated.seed == dilated.seed
    assert [variant.time_dilation for variant in stated.variants] == [1]
    assert logged(twin) == logged(simulate(planned(), tmp_path).directory)


def test_a_twin_of_variants_that_differ_in_dilation_keeps_their_names(tmp_path: Path) -> None:
    plan = twin_plan(planned("vary: {time_dilation: [1, 2]}\n"))
    assert [variant.name for variant in plan.variants] == ["1", "2"]
    assert [variant.scenario.time_dilation for variant in plan.variants] == [1, 1]


def test_what_the_simulator_cannot_do_is_told_before_anything_runs() -> None:
    with pytest.raises(
        BadInputError, match=r"--twin: the simulator cannot run this scenario; leave --twin out: brokers\.cpu"
    ):
        twin_plan(planned("brokers: {cpu: 0.5}\n"))


def test_nothing_is_left_of_a_twin_that_is_interrupted(tmp_path: Path) -> None:
    plan = planned()
    run = simulate(plan, tmp_path).directory
    files = sorted(run.iterdir())
    assert simulate_twin(twin_plan(plan), tmp_path, interrupt=Impatient()).interrupted
    assert sorted(run.iterdir()) == files


def test_nothing_is_left_of_a_twin_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(plan: Plan, out: Path, **_: object) -> None:
        (out / plan.run_id).mkdir(parents=True)
        raise HostError("no space left")

    monkeypatch.setattr(twins, "simulate", full)
    plan = planned()
    with pytest.raises(HostError):
        simulate_twin(twin_plan(plan), tmp_path)
    assert list((tmp_path / plan.run_id).iterdir()) == []
