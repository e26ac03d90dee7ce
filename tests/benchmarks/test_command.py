"""All benchmarks as one command: which are run, what is printed on the way, and how it ends."""

from __future__ import annotations

import ast
import importlib
import json
import runpy
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchmarks import command
from benchmarks.command import BENCHMARKS, Benchmark, main, others_share, run_all
from benchmarks.targets import Target

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Trivial(Benchmark):
    @property
    def module(self) -> str:
        return "tests.benchmarks.trivial"


@pytest.fixture(autouse=True)
def idle_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "others_share", lambda: 0.0)


def test_every_benchmark_is_run() -> None:
    modules = {path.stem for path in (ROOT / "benchmarks").glob("*.py")}
    assert {benchmark.name for benchmark in BENCHMARKS} == modules - {"__main__", "command", "compare", "targets"}


@pytest.mark.parametrize("benchmark", BENCHMARKS, ids=lambda benchmark: benchmark.name)
def test_every_benchmark_states_targets(benchmark: Benchmark) -> None:
    module = importlib.import_module(benchmark.module)
    assert callable(module.run)
    assert any(isinstance(value, Target) for value in vars(module).values())


def test_all_together_take_as_long_as_the_makefile_says() -> None:
    full = sum(benchmark.seconds for benchmark in BENCHMARKS)
    quick = sum(benchmark.quick_seconds or 0 for benchmark in BENCHMARKS)
    (line,) = [line for line in (ROOT / "Makefile").read_text().splitlines() if line.startswith("bench:")]
    assert f"{full / 60:.0f} minutes; {quick / 60:.0f} with ARGS=quick" in line


@pytest.mark.parametrize(
    ("words", "names", "arguments"),
    [
        ([], [benchmark.name for benchmark in BENCHMARKS], []),
        (["relay", "matching"], ["matching", "relay"], []),
        (["quick"], [benchmark.name for benchmark in BENCHMARKS if benchmark.quick_seconds], ["--quick"]),
        (["quick", "burst", "relay"], ["relay"], ["--quick"]),
    ],
)
def test_words_choose_benchmarks(
    monkeypatch: pytest.MonkeyPatch, words: list[str], names: list[str], arguments: list[str]
) -> None:
    run: list[tuple[list[str], list[str], int]] = []

    def note(benchmarks: Sequence[Benchmark], given: Sequence[str], seconds: int, data: Path | None) -> int:
        assert data is None
        run.append(([benchmark.name for benchmark in benchmarks], list(given), seconds))
        return 7

    monkeypatch.setattr(command, "run_all", note)
    assert main(words) == 7
    ((chosen, given, seconds),) = run
    assert (chosen, given) == (names, arguments)
    assert seconds > 0


def test_the_program_defines_nothing_that_a_process_would_have_to_import() -> None:
    program = ast.parse((ROOT / "benchmarks" / "__main__.py").read_text())
    assert not any(isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Assign) for node in program.body)


def test_the_program_passes_its_words_on(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["benchmarks", "slow"])
    with pytest.raises(SystemExit) as stopped:
        runpy.run_module("benchmarks", run_name="__main__")
    assert stopped.value.code == 2
    assert "there is no benchmark slow" in capsys.readouterr().err


def test_an_unknown_word_is_refused_with_the_names(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["fast"])
    assert stopped.value.code == 2
    assert "there is no benchmark fast; choose from matching" in capsys.readouterr().err


def test_progress_is_shown_and_kept_targets_end_well(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_all([Trivial("first", 60), Trivial("second", 60)], ["3"], 120) == 0
    shown = capsys.readouterr().out
    assert "2 benchmarks, about 2.0 min in all on two idle cores: first, second" in shown
    assert "[2 of 2] second, after 0.0 min of about 2.0 min" in shown


def test_judgements_are_written_as_data(tmp_path: Path) -> None:
    run_all([Trivial("first", 60)], ["3"], 60, tmp_path / "figures.json")
    assert json.loads((tmp_path / "figures.json").read_text()) == {
        "first": [
            {
                "target": {
                    "name": "number given to the trivial benchmark", "bound": "at most", "value": 10, "unit": "",
                    "reference": None, "defect": "",
                },
                "measured": 3.0,
                "growth": None,
                "speed": 1.0,
                "others": 0.0,
            }
        ]
    }  # fmt: skip


def test_a_missed_target_is_named_at_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_all([Trivial("first", 60)], ["11"], 60) == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == "MISSED number given to the trivial benchmark: 11, target at most 10"


def test_a_target_that_was_missed_on_a_busy_host_is_not_judged(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = iter([0.0, 0.4])
    monkeypatch.setattr(command, "others_share", lambda: next(looks))
    assert run_all([Trivial("first", 60)], ["11"], 60) == 3
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == (
        "not judged number given to the trivial benchmark: 11, target at most 10; others took 40% of the processors: "
        "run it again on an idle host"
    )


def test_others_take_a_share_of_the_processors() -> None:
    assert 0 <= others_share(0.01) <= 1


def test_a_benchmark_that_fails_is_named_and_the_others_are_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_all([Trivial("first", 60), Trivial("second", 60)], ["not a number"], 120) == 1
    shown = capsys.readouterr()
    assert shown.err.splitlines()[-2:] == ["FAILED first", "FAILED second"]
    assert "[2 of 2] second" in shown.out
