"""A complete reproduction of small claims: runs in worker processes, results on disk, verdicts, and their text."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest
from rich.console import Console

from analysis.claims import Claim, ClaimKind, ClaimVerdict, Measurement, Recipe, judge
from record.errors import BadInputError
from record.exit_codes import ExitCode
from studies.reproduction import (
    Cell,
    CellResult,
    CellWork,
    Experiment,
    Recorded,
    ResultStore,
    cells,
    costed,
    emulated_cells,
    judgements,
    plan_experiments,
    results,
    simulated_cells,
)
from studies.reproduction.cell import plain
from studies.reproduction.sentences import (
    closing_lines,
    explanation,
    failed_code,
    failure_lines,
    reported,
    rows,
    table,
    violated,
)

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
    recipe = Recipe(scenario="tiny.yaml", measure=measure, parts=parts, explanation="because")
    return Claim(id=id, paper="tid", kind=kind, what=f"statement {id}", published=published, measured_by=recipe)


CLAIMS = (
    claim("x-delay", ClaimKind.RATIO, "relative delay", -0.9),
    claim("x-match", ClaimKind.VALUE, "matching share", 0.3),
    claim("x-once", ClaimKind.PROPERTY, "received twice"),
)


NO_MEASURE = claim("x-none", ClaimKind.VALUE, "no such measure", 1.0)


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory: pytest.TempPathFactory) -> tuple[tuple[Experiment, ...], ResultStore]:
    """Two seeds of the tiny scenario, run in two processes."""
    directory = tmp_path_factory.mktemp("reproduction")
    (directory / "tiny.yaml").write_text(SCENARIO)
    experiments = plan_experiments(CLAIMS, 2, directory)
    store = ResultStore(directory / "out", "simulated")
    work = [CellWork(entry.cell, store, keep_runs=False) for entry in cells(costed(experiments, Recorded(machine="")))]
    assert len(list(simulated_cells(2)(work))) == 2
    store.tidy()
    return experiments, store


def test_claims_are_measured_and_judged(reproduced: tuple[tuple[Experiment, ...], ResultStore]) -> None:
    experiments, store = reproduced
    delay, match, once = judgements(experiments, store)
    assert delay.seeds == match.seeds == once.seeds == 2
    assert delay.parts[0].measured is not None
    assert abs(delay.parts[0].measured.mean) < 0.5
    assert delay.verdict is ClaimVerdict.DIFFERS
    assert match.parts[0].measured is not None
    assert 0.2 < match.parts[0].measured.mean < 0.6
    assert once.verdict is ClaimVerdict.REPRODUCED
    assert once.checked > 300
    found = results(experiments, store)
    assert [(result.seed, result.delivery, result.fidelity) for result in found] == [
        (1, ["correct"], "VALID"),
        (2, ["correct"], "VALID"),
    ]
    assert not violated([delay, match, once], found)


def test_nothing_but_results_is_left(reproduced: tuple[tuple[Experiment, ...], ResultStore]) -> None:
    _, store = reproduced
    assert sorted(path.name for path in store.directory.rglob("*")) == ["cells", "tiny-1.json", "tiny-2.json"]


def test_a_result_is_of_its_very_experiment_and_runtime(reproduced: tuple[tuple[Experiment, ...], ResultStore]) -> None:
    (experiment,), store = reproduced
    assert store.read(Cell(experiment, 1)) is not None
    assert store.read(Cell(experiment, 3)) is None
    assert ResultStore(store.directory, "container").read(Cell(experiment, 1)) is None
    other = plan_experiments([claim("x-delay", ClaimKind.RATIO, "relative delay", -0.5)], 2, experiment.file.parent)[0]
    changed = msgspec.structs.replace(CLAIMS[0].measured_by, measure="overload")  # type: ignore[type-var]
    remeasured = msgspec.structs.replace(CLAIMS[0], measured_by=changed)
    assert other.fingerprint != experiment.fingerprint
    assert plan_experiments([remeasured], 2, experiment.file.parent)[0].fingerprint != other.fingerprint


def test_the_same_seed_measures_the_same(
    reproduced: tuple[tuple[Experiment, ...], ResultStore], tmp_path: Path
) -> None:
    (experiment,), store = reproduced
    again = ResultStore(tmp_path, "simulated")
    list(simulated_cells(1)([CellWork(Cell(experiment, 2), again, keep_runs=True)]))
    first, second = store.read(Cell(experiment, 2)), again.read(Cell(experiment, 2))
    assert first is not None
    assert second is not None
    assert first.measurements == second.measurements
    assert next(again.runs.glob("tiny-2/*-tiny-*/summary.json")).exists()


def test_a_run_that_fails_does_not_end_the_others(tmp_path: Path) -> None:
    (tmp_path / "tiny.yaml").write_text(SCENARIO)
    (experiment,) = plan_experiments(CLAIMS, 3, tmp_path)
    store = ResultStore(tmp_path / "out", "simulated")
    unusable = replace(experiment, overrides={"routing.protocol": "none"})
    work = [
        CellWork(cell, store, keep_runs=False)
        for cell in (Cell(replace(experiment, claims=(NO_MEASURE,)), 1), Cell(unusable, 2), Cell(experiment, 3))
    ]
    assert len(list(simulated_cells(1)(work))) == 3
    defect, mistake, good = (piece.failure for piece in work)
    assert defect is not None
    assert mistake is not None
    assert (defect.message, defect.exit_code) == ("KeyError: 'no such measure'", ExitCode.DEFECT)
    assert "--set routing.protocol=none" in mistake.message
    assert mistake.exit_code == ExitCode.BAD_INPUT
    assert good is None
    assert store.read(Cell(experiment, 3)) is not None
    assert not store.runs.exists() or not list(store.runs.iterdir())
    failed = {"tiny, seed 1": defect, "tiny, seed 2": mistake}
    assert list(failure_lines(failed))[1] == "  tiny, seed 1: KeyError: 'no such measure'"
    assert failed_code(failed) is ExitCode.DEFECT
    assert failed_code({"tiny, seed 2": mistake}) is ExitCode.BAD_INPUT
    assert (failed_code({}), list(failure_lines({}))) == (ExitCode.CORRECT, [])
    store.forget(work[0].cell)
    assert work[0].failure is None


def test_numbers_of_numpy_can_be_stored() -> None:
    measured = Measurement(values=(np.float64(0.5), None), checked=int(np.int64(3)), example="x")
    with pytest.raises(TypeError):
        msgspec.json.encode(measured)
    assert msgspec.json.decode(msgspec.json.encode(plain(measured)), type=Measurement) == measured


def test_an_unknown_runtime(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="there is no runtime 'cloud'; choose container, process, simulated"):
        emulated_cells("cloud", Console())


def test_rows_for_people() -> None:
    ratio = judge(CLAIMS[0], [Measurement(values=(-0.1,)), Measurement(values=(-0.12,))])
    assert list(rows(ratio)) == [("x-delay", "statement x-delay", "-90.0%", "-11.0% [-23.7%, +1.7%]", "differs")]
    single = judge(CLAIMS[1], [Measurement(values=(0.3,))])
    assert list(rows(single)) == [("x-match", "statement x-match", "0.3", "0.3 [one seed]", "same direction")]
    holds = judge(CLAIMS[2], [Measurement(values=(0.0,), checked=1234)])
    assert list(rows(holds)) == [("x-once", "statement x-once", "never", "0 of 1,234", "reproduced")]
    order = claim("x-order", ClaimKind.ORDER, "overload", None, "fixed overloads", "dynamic does not")
    both = judge(order, [Measurement(values=(0.2, None)), Measurement(values=(0.2, None))])
    assert list(rows(both)) == [
        ("x-order", "statement x-order", "", "", "not measured"),
        ("", "  fixed overloads", "holds", "+20.0% [+20.0%, +20.0%]", "reproduced"),
        ("", "  dynamic does not", "holds", "-", "not measured"),
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


def test_reasons_are_given_where_a_claim_is_not_reproduced() -> None:
    assert explanation(judge(CLAIMS[0], [Measurement(values=(0.1,))])) == "because"
    assert explanation(judge(CLAIMS[2], [Measurement(values=(0.0,), checked=1)])) == ""
    assert explanation(judge(CLAIMS[0], [])) == "No run measured it."
    alone = msgspec.structs.replace(CLAIMS[0], measured_by=Recipe(scenario="x", measure="x", runtimes=("simulated",)))
    assert explanation(judge(alone, [])) == "No run on the simulator measured it."
    refuted = judge(CLAIMS[2], [Measurement(values=(2.0,), checked=9, example="B2 received a twice")])
    assert explanation(refuted) == "B2 received a twice"
    assert violated([refuted], [])


def test_json_for_scripts() -> None:
    judgement = judge(CLAIMS[0], [Measurement(values=(-0.1,)), Measurement(values=(-0.12,))])
    written = json.loads(msgspec.json.encode(reported(judgement)))
    assert (written["claim"], written["verdict"], written["explanation"]) == ("x-delay", "differs", "because")
    (part,) = written["parts"]
    assert (part["published"], part["measured"], part["seeds"]) == (-0.9, pytest.approx(-0.11), 2)
    assert part["interval"] == [pytest.approx(-0.237, abs=1e-3), pytest.approx(0.017, abs=1e-3)]
    holds = json.loads(msgspec.json.encode(reported(judge(CLAIMS[2], [Measurement(values=(0.0,), checked=7)]))))
    assert (holds["checked"], holds["violations"], holds["parts"]) == (7, 0, [])


def test_runs_that_may_mislead_are_named() -> None:
    def result(seed: int, delivery: str, fidelity: str) -> CellResult:
        return CellResult(
            scenario="tiny", seed=seed, runtime="simulated", fingerprint="", measurements={}, delivery=[delivery],
            fidelity=fidelity, seconds=0.0, cpu_seconds=0.0,
        )  # fmt: skip

    good, lost, doubtful = result(1, "correct", "VALID"), result(2, "lost", "VALID"), result(3, "correct", "DEGRADED")
    judged = [judge(CLAIMS[2], [Measurement(values=(0.0,), checked=7)])]
    assert list(closing_lines(judged, [good, result(4, "unjudged", "VALID")])) == ["1 reproduced"]
    lines = list(closing_lines(judged, [good, lost, doubtful]))
    assert lines[1] == "delivery was violated: tiny, seed 2 (lost)"
    assert lines[2].endswith("tiny, seed 3 (DEGRADED)")
    assert violated(judged, [good, lost])
    assert not violated(judged, [good, doubtful])
