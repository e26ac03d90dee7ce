"""Runs of a reproduction on real brokers beside their twins."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from analysis.claims import Claim, ClaimKind, Recipe
from analysis.compare.model import MeanDifference, MessageComparison, PartDifference, VariantComparison, count
from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.run_files.run_directory import read_manifest
from emulation.planning.calibration import charged_costs, load_calibration
from emulation.run.directory import RunOutcome
from record.files import TWIN
from record.host_speed import HostSpeed, LoopTimes
from record.manifest import write as write_manifest
from studies.reproduction import ReproductionCell, ReproductionResult, plan_experiments
from studies.reproduction.plan import first_seeds
from studies.reproduction.twin import twin_lines
from tests.studies.reproduction.tiny import TINY

LONGER = TINY.replace("run: 2s", "run: 10s")
"""Long enough for the means of two runs to be told apart from chance."""


def cell(directory: Path, more: str = "") -> ReproductionCell:
    (directory / "tiny.yaml").write_text(LONGER + more)
    recipe = Recipe(scenario="tiny.yaml", measure="received twice")
    claim = Claim(id="x", paper="tid", kind=ClaimKind.PROPERTY, what="x", measured_by=recipe)
    (experiment,) = plan_experiments([claim], first_seeds(1), directory, {})
    return ReproductionCell.of(experiment, 1, "container")


def read(cell: ReproductionCell, outcome: RunOutcome, runtime: str) -> ReproductionResult:
    return cell.read(outcome, analyze(outcome.directory, PlainEngine()), runtime)


@pytest.mark.parametrize(("runtime", "compared"), [("container", ["base"]), ("simulated", [])])
def test_runs_on_real_brokers_are_compared_with_their_twins(runtime: str, compared: list[str], tmp_path: Path) -> None:
    """A run without costs, as the simulator makes it of a paper's scenario, stands for one on very fast brokers."""
    asked = cell(tmp_path)
    result = read(asked, asked.simulate(asked.plan(), tmp_path), runtime)
    assert [one.name for one in result.twin] == compared
    assert msgspec.json.decode(result.encode(), type=ReproductionResult) == result
    for one in result.twin:
        assert one.mean is not None
        assert one.mean.second < one.mean.first
        assert one.mean.left_over == pytest.approx(0.0, abs=0.05 * (one.mean.first - one.mean.second))


def test_the_twin_has_the_costs_of_the_host_that_ran_the_scenario(tmp_path: Path) -> None:
    asked = cell(tmp_path)
    outcome = asked.simulate(asked.plan(), tmp_path)
    shipped = load_calibration()
    assert shipped.loops is not None
    slow = LoopTimes(interpreter=2 * shipped.loops.interpreter)
    manifest = read_manifest(outcome.directory)
    manifest.host_speed = HostSpeed(here=slow, calibrated=shipped.loops, timed=0)
    write_manifest(manifest, outcome.directory)
    read(asked, outcome, "container")
    assert read_manifest(outcome.directory / TWIN).calibration == charged_costs(shipped.on(slow))


def test_what_the_simulator_cannot_run_has_no_twin(tmp_path: Path) -> None:
    free = cell(tmp_path)
    outcome = free.simulate(free.plan(), tmp_path)
    assert read(cell(tmp_path, "brokers: {cpu: 0.5}\n"), outcome, "container").twin == ()


def beside(variant: str, left_over: float | None) -> VariantComparison:
    backlog = PartDifference(name="backlog", first=None, second=None, difference=None)
    mean = None if left_over is None else MeanDifference(
        first=6.0, second=7.0, parts=[], backlog=backlog, explained=1.0 - left_over, left_over=left_over
    )  # fmt: skip
    nothing = count("all", 0, 0)
    return VariantComparison(
        name=variant, delay=None, mean=mean, matching=nothing, delivery=[],
        messages=MessageComparison(total=nothing, kinds=[], worst_brokers=[], misplaced=0.0),
    )  # fmt: skip


def test_what_is_left_over_is_named_with_the_run_and_the_variant() -> None:
    runs = [
        ("a, seed 1", [beside("fixed", 0.1), beside("dynamic", 0.9)]),
        ("a, seed 2", [beside("fixed", 0.1), beside("dynamic", 0.2)]),
        ("b, seed 1", [beside("sampled", None)]),
        ("c, seed 1", []),
    ]
    assert list(twin_lines(runs)) == [
        "mean delays beside the simulated twin, a, seed 1: dynamic 7.0 ms instead of 6.0, +0.9 left over; what is left "
        "over is of the emulation or of the simulator, unknown which",
        "1 of 2 runs on real brokers differ from their simulated twins by no more than is explained",
    ]
    assert list(twin_lines(runs[2:])) == []
