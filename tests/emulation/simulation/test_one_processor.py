"""A simulation and the programs of its routers stay on one processor; others go where they like."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from emulation.planning.plan import Plan, make_plan
from emulation.simulation.one_processor import beside_programs
from scenario.loading import load
from tests.outside.programs import written

SCENARIO = """
name: outside
topology: {kind: line, brokers: 2}
routing: {protocol: tid}
workload: {operations: [{at: 0s, client: P, broker: B1, id: a, advertise: "[class,eq,'STOCK']"}]}
timeline: {join: 1s, run: 1s}
"""
WHERE = [sys.executable, "-c", "import os; print(*os.sched_getaffinity(0))"]


def planned(directory: Path, rest: str = "") -> Plan:
    path = directory / "scenario.yaml"
    path.write_text(SCENARIO + rest)
    return make_plan(load(path))


def test_programs_run_where_the_simulation_does(tmp_path: Path) -> None:
    written(tmp_path)
    plan = planned(tmp_path, "vary: {routing.protocol: [tid, {program: [./spread]}]}\n")
    allowed = os.sched_getaffinity(0)
    with beside_programs(plan):
        (here,) = os.sched_getaffinity(0)
        assert subprocess.check_output(WHERE, text=True).split() == [str(here)]
    assert os.sched_getaffinity(0) == allowed
    assert here in allowed


def test_a_simulation_without_programs_may_move(tmp_path: Path) -> None:
    allowed = os.sched_getaffinity(0)
    with beside_programs(planned(tmp_path)):
        assert os.sched_getaffinity(0) == allowed
