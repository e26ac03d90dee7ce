"""A complete reproduction of small claims: runs in worker processes, results on disk, verdicts, and their text."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from analysis.claims import Claim, ClaimKind, ClaimVerdict, Measurement, Recipe, judge
from analysis.claims.standing import Fit
from studies.cells.attempt import Keep
from studies.cells.executors.interface import ExecutorOptions
from studies.cells.scheduler import run_cells
from studies.reproduction import (
    Experiment,
    ReproductionCell,
    ReproductionResult,
    ResultStore,
    judgements,
    open_store,
    plan_experiments,
    planned_runs,
    unmeasured,
)
from studies.reproduction.plan import first_seeds
from studies.reproduction.results import stored_runs
from studies.reproduction.sentences import closing_lines, reported, rows, table, violated

SCENARIO = """\
name: tiny
topology: {kind: ring, brokers: 4, link: {delay: 1ms..5ms}}
routing: {protocol: tid}
workload:
  publications: {publishers: 3, publishers_per_symbol: 2, rate: 30/s}
  subscriptions: {subscribers: 4, selectivity: 40%}
timeline: {join: 3s, run: 4s, drain: 5s}
vary: {routing.publications: [fixed, dynamic]}
"""


def claim(id: str, kind: ClaimKind, measure: str, published: float | None = None, *parts: str) -> Claim:
    recipe = Recipe(scenario="tiny.yaml", measure=measure, parts=parts)
    return Claim(id=id, paper="tid", kind=kind, what=f"statement {id}", published=published, measured_by=recipe)


CLAIMS = (
    claim("x-delay", ClaimKind.RATIO, "relative delay", -0.9),
    claim("x-match", ClaimKind.VALUE, "matching share", 0.3),
    claim("x-once", ClaimKind.PROPERTY, "received twice"),
)


Reproduced = tuple[Experiment, ResultStore]


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory: pytest.TempPathFactory) -> Reproduced:
    """Two seeds of the tiny scenario, run in two processes."""
    directory = tmp_path_factory.mktemp("reproduction")
    (directory / "tiny.yaml").write_text(SCENARIO)
    (experiment,) = plan_experiments(CLAIMS, first_seeds(2), directory)
    store = open_store(directory / "out")
    options = ExecutorOptions(runtime="simulated", retries=0, keep=Keep.NONE, jobs=2)
    cells = [ReproductionCell.of(experiment, seed, "simulated") for seed in experiment.seeds]
    assert run_cells(options, store, cells, Console(stderr=True))
    return experiment, store


def test_claims_are_measured_and_judged(reproduced: Reproduced) -> None:
    experiment, store = reproduced
    ((_, runs),) = found = planned_runs([experiment], "simulated", store)
    delay, match, once = judgements(found)
    assert delay.seeds == match.seeds == once.seeds == 2
    assert delay.parts[0].measured is not None
    assert abs(delay.parts[0].measured.mean) < 0.5
    assert delay.verdict is ClaimVerdict.DIFFERS
    assert match.parts[0].measured is not None
    assert 0.2 < match.parts[0].measured.mean < 0.6
    assert once.verdict is ClaimVerdict.REPRODUCED
    assert once.checked > 300
    results = [run.result for run in runs]
    assert [(result.seed, result.delivery, result.fidelity) for result in results] == [
        (1, ["correct"], "VALID"),
        (2, ["correct"], "VALID"),
    ]
    assert not violated([delay, match, once], results)


def test_no_run_directory_is_left(reproduced: Reproduced) -> None:
    _, store = reproduced
    left = {str(path.relative_to(store.path)) for path in store.path.rglob("*") if path.is_file()}
    files = ("manifest.json", "result.json", "scenario.yaml")
    assert left == {f"cells/tiny-{seed}/{name}" for seed in (1, 2) for name in files}


def test_a_result_is_of_its_very_experiment_and_runtime(reproduced: Reproduced, tmp_path: Path) -> None:
    experiment, store = reproduced
    assert store.result(ReproductionCell.of(experiment, 1, "simulated")) is not None
    assert store.result(ReproductionCell.of(experiment, 3, "simulated")) is None
    assert store.result(ReproductionCell.of(experiment, 1, "container")) is None
    (tmp_path / "tiny.yaml").write_text(SCENARIO)
    other = plan_experiments([claim("x-delay", ClaimKind.RATIO, "relative delay", -0.5)], first_seeds(2), tmp_path)[0]
    assert store.result(ReproductionCell.of(other, 1, "simulated")) is None
    changed = msgspec.structs.replace(CLAIMS[0].measured_by, measure="overload")  # type: ignore[type-var]
    remeasured = msgspec.structs.replace(CLAIMS[0], measured_by=changed)
    assert plan_experiments([remeasured], first_seeds(2), tmp_path)[0].fingerprint != other.fingerprint


def test_a_result_of_another_program_is_measured_again(reproduced: Reproduced) -> None:
    experiment, store = reproduced
    cells = [ReproductionCell.of(experiment, seed, "simulated") for seed in experiment.seeds]
    assert unmeasured(store, cells) == []
    later = [replace(cell, experiment=replace(experiment, program="later")) for cell in cells]
    assert unmeasured(store, later) == later


def test_stored_runs_are_those_of_all_seeds(reproduced: Reproduced) -> None:
    experiment, store = reproduced
    ((_, runs),) = stored_runs([replace(experiment, seeds=(1,))], "simulated", store)
    assert [run.result.seed for run in runs] == [1, 2]


def test_rows_for_people() -> None:
    ratio = judge(CLAIMS[0], [Measurement(values=(-0.1,)), Measurement(values=(-0.12,))])
    assert list(rows(ratio)) == [("x-delay", "statement x-delay", "-90.0%", "-11.0% [-23.7%, +1.7%]", "differs", "")]
    single = judge(CLAIMS[1], [Measurement(values=(0.3,))])
    assert list(rows(single)) == [
        ("x-match", "statement x-match", "0.3", "0.3 [one seed]", "within a factor of two", "")
    ]
    holds = judge(CLAIMS[2], [Measurement(values=(0.0,), checked=1234)])
    assert list(rows(holds)) == [("x-once", "statement x-once", "never", "0 of 1,234", "reproduced", "")]
    order = claim("x-order", ClaimKind.ORDER, "overload", None, "fixed overloads", "dynamic does not")
    both = judge(order, [Measurement(values=(0.2, None)), Measurement(values=(0.2, None))])
    assert list(rows(both)) == [
        ("x-order", "statement x-order", "", "", "not measured", ""),
        ("", "  fixed overloads", "holds", "+20.0% [+20.0%, +20.0%]", "reproduced", ""),
        ("", "  dynamic does not", "holds", "-", "not measured", ""),
    ]
    assert table([ratio, single, holds, both]).row_count == 6
    provisional = msgspec.structs.replace(single, from_quick_form=True)
    assert next(rows(provisional))[0] == "x-match*"
    assert list(closing_lines([provisional], []))[1].startswith("* from a smaller form of the scenario")
    assert reported(provisional).quick_form


def test_tiny_differences_are_not_rounded_to_zero() -> None:
    tiny = judge(
        claim("x-tiny", ClaimKind.RATIO, "relative delay", 0.0004),
        [Measurement(values=(0.0,)), Measurement(values=(-0.0005,))],
    )
    assert next(rows(tiny))[2:4] == ("+0.04%", "-0.03% [-0.3%, +0.3%]")
    none = judge(claim("x-none", ClaimKind.RATIO, "relative delay", 0.001), [Measurement(values=(0.0,))])
    assert next(rows(none))[2:4] == ("+0.1%", "+0.0% [one seed]")


def test_marks_name_smaller_and_changed_runs() -> None:
    judgement = judge(CLAIMS[1], [Measurement(values=(0.3,))])
    smaller = msgspec.structs.replace(judgement, smaller="60 of 1,000 servers")
    changed = msgspec.structs.replace(smaller, changed="timeline.run=9s")
    assert [next(rows(found))[0] for found in (judgement, smaller, changed)] == ["x-match", "x-match<", "x-match<!"]
    assert list(closing_lines([judgement], [])) == ["1 within a factor of two"]
    assert list(closing_lines([changed], []))[1:] == [
        "< on a smaller scale than the paper's experiment",
        "! with fields that --set changed, so not in the scenario that belongs to the claim",
    ]
    assert reported(changed).changed == "timeline.run=9s"


def test_claims_that_do_not_count_are_counted_apart() -> None:
    fit = Fit(scenarios=("tiny.yaml",), parameters={"brokers.service_time": "1ms"}, to=("x-match",))
    fitted = msgspec.structs.replace(CLAIMS[1], fits=(fit,))
    judgement = judge(fitted, [Measurement(values=(0.3,))])
    assert next(rows(judgement))[-1] == "calibrated"
    assert list(closing_lines([judgement, judge(CLAIMS[0], [])], [])) == ["1 not measured, 1 calibrated"]
    assert (reported(judgement).standing, reported(judgement).parts[0].standing) == ("calibrated", "calibrated")


def test_json_for_scripts() -> None:
    judgement = judge(CLAIMS[0], [Measurement(values=(-0.1,)), Measurement(values=(-0.12,))])
    written = json.loads(msgspec.json.encode(reported(judgement)))
    assert (written["claim"], written["verdict"], written["standing"]) == ("x-delay", "differs", "tested")
    assert written["remarks"] == ["the mean is 79 points from the published difference, and chance is not ruled out."]
    (part,) = written["parts"]
    assert (part["published"], part["measured"], part["seeds"]) == (-0.9, pytest.approx(-0.11), 2)
    assert part["interval"] == [pytest.approx(-0.237, abs=1e-3), pytest.approx(0.017, abs=1e-3)]
    holds = json.loads(msgspec.json.encode(reported(judge(CLAIMS[2], [Measurement(values=(0.0,), checked=7)]))))
    assert (holds["checked"], holds["violations"], holds["parts"]) == (7, 0, [])


def test_runs_that_may_mislead_are_named() -> None:
    def result(seed: int, delivery: str, fidelity: str) -> ReproductionResult:
        return ReproductionResult(
            scenario="tiny", seed=seed, runtime="simulated", fingerprint="", measurements={}, delivery=[delivery],
            fidelity=fidelity,
        )  # fmt: skip

    good, lost, doubtful = result(1, "correct", "VALID"), result(2, "lost", "VALID"), result(3, "correct", "DEGRADED")
    judged = [judge(CLAIMS[2], [Measurement(values=(0.0,), checked=7)])]
    assert list(closing_lines(judged, [good, result(4, "unjudged", "VALID")])) == ["1 reproduced"]
    lines = list(closing_lines(judged, [good, lost, doubtful]))
    assert lines[1] == "delivery was violated: tiny, seed 2 (lost)"
    assert lines[2].endswith("tiny, seed 3 (DEGRADED)")
    assert violated(judged, [good, lost])
    assert not violated(judged, [good, doubtful])
