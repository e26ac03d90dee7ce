"""The files of a run directory that hold the movements of brokers."""

from __future__ import annotations

from pathlib import Path

from analysis.run_files.run_directory import open_run
from emulation.planning.plan import make_plan
from emulation.simulation.run import simulate
from scenario.loading import load_text

MOVING = """
name: moving
topology: {kind: unit-disk, brokers: 5, area: [200m, 200m], range: 150m}
motion: {kind: random-direction, speed: 5m/s, partitions: allowed}
routing: {protocol: semi-probabilistic, threshold: 1}
workload: {kind: patterns, publications: {rate: 1/s, receivers: 50%}}
timeline: {join: 2s, run: 2s, drain: 1s}
vary: {motion.speed: [5m/s, 9m/s], routing.horizon: [0, 1]}
seed: 1
"""


def test_variants_with_the_same_movements_share_a_file(tmp_path: Path) -> None:
    plan = make_plan(load_text(MOVING, "moving"))
    run = open_run(simulate(plan, tmp_path).directory)
    files = [variant.movements for variant in run.manifest.variants]
    assert files[0] == files[1] == "overlay.movements" != files[2] == files[3]
    assert len(list(run.path.glob("*.movements"))) == 2
    for variant in plan.variants:
        planned = variant.scenario.movements()
        for time in (0.0, 2.0, 3.3, 5.0):
            for broker, way in run.movements[variant.name].items():
                assert abs(way.at(time)[0] - planned[broker].at(time)[0]) < 1e-9


def test_a_scenario_without_movements_has_no_file(tmp_path: Path) -> None:
    still = MOVING.replace("motion: {kind: random-direction, speed: 5m/s, partitions: allowed}\n", "")
    plan = make_plan(load_text(still.replace("motion.speed: [5m/s, 9m/s], ", ""), "still"))
    run = open_run(simulate(plan, tmp_path).directory)
    assert run.movements == {}
    assert not list(run.path.glob("*.movements"))
