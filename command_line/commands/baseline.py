"""`brokerlab baseline`, and `brokerlab emulate --against`: runs held against earlier ones of the same plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.text import Text

from analysis.run_files.run_directory import read_manifest
from analysis.tables.summary import read_summary
from command_line.commands.analyze import analysed
from command_line.commands.answers import Answer
from command_line.commands.emulate import EmulationRequest, JudgedRun, run_once
from emulation.runtimes.ladder import AUTO
from record.errors import BadInputError
from record.exit_codes import ExitCode
from scenario.loading import load
from studies.baselines.cases import baseline_suite
from studies.baselines.comparison import Change, FigureChange, compared
from studies.baselines.model import (
    Baseline,
    Figures,
    baseline_file,
    baseline_of,
    figures_of,
    read_baseline,
    require_same_plan,
    write_baseline,
)
from studies.junit import JunitSuite
from studies.verdict_files import NO_FILES

_STYLES = {Change.WORSE: "red", Change.NOT_JUDGED: "yellow", Change.BETTER: "green"}
_GRAVEST_FIRST = (
    ExitCode.BROKER_DEFECT,
    ExitCode.VIOLATED,
    ExitCode.INVALID,
    ExitCode.INTERRUPTED,
    ExitCode.CORRECT,
)


def save_baseline(name: str, runs: Sequence[Path]) -> ExitCode:
    """Writes the baseline of analysed runs. Raises `UserError`s."""
    baseline, file = baseline_of(runs), baseline_file(name)
    write_baseline(baseline, file)
    seeds = ", ".join(map(str, baseline.seeds))
    print(f"{file}: {baseline.scenario}, {baseline.runtime}, seeds {seeds}; plan {baseline.plan}")
    return ExitCode.CORRECT


def run_against(request: EmulationRequest, name: str, seed: int | None, answer: Answer) -> ExitCode:
    """Runs every seed of a baseline, or the one given, and holds the figures against it. Raises `UserError`s."""
    console = answer.console
    request.verdict_files.require_writable()
    file = baseline_file(name)
    baseline = read_baseline(file)
    seeds = _seeds(baseline, file, seed)
    scenario = load(request.scenario, {**request.overrides, "seed": str(seeds[0])})
    require_same_plan(baseline, file, scenario.resolved(), None if request.runtime == AUTO else request.runtime)
    runs: list[JudgedRun] = []
    with request.engine:
        for each in seeds:
            of_seed = replace(request, overrides={**request.overrides, "seed": str(each)}, verdict_files=NO_FILES)
            runs.append(run_once(of_seed, console))
            if runs[-1].directory is None or runs[-1].code is ExitCode.INTERRUPTED:
                break
    if runs[-1].code is ExitCode.INTERRUPTED:
        console.print("\ninterrupted, so that nothing was held against the baseline")
        return ExitCode.INTERRUPTED
    directories = [run.directory for run in runs if run.directory is not None]
    for directory in directories:
        manifest = read_manifest(directory)
        require_same_plan(baseline, file, manifest.scenario, manifest.runtime.name)
    changes = compared(baseline, _figures(directories))
    _show(console, baseline, file, changes)
    answer.document({"runs": list(map(analysed, directories)), "against": file, "changes": changes})
    request.verdict_files.write([*_suites(runs), baseline_suite(baseline.scenario, changes)])
    codes = {*(run.code for run in runs), *_codes(changes)}
    return next(code for code in _GRAVEST_FIRST if code in codes)


def _seeds(baseline: Baseline, file: Path, seed: int | None) -> list[int]:
    if seed is None:
        return baseline.seeds
    if seed not in baseline.seeds:
        has = ", ".join(map(str, baseline.seeds))
        raise BadInputError(f"--seed {seed}: {file} has no run of it to pair with; it has {has}")
    return [seed]


def _figures(directories: Sequence[Path]) -> Mapping[str, Mapping[int, Figures]]:
    found: dict[str, dict[int, Figures]] = {}
    for directory in directories:
        seed = read_manifest(directory).seed
        for variant in read_summary(directory).variants:
            found.setdefault(variant.name, {})[seed] = figures_of(variant)
    return found


def _show(console: Console, baseline: Baseline, file: Path, changes: Sequence[FigureChange]) -> None:
    console.print(
        f"\nagainst {file} (revision {baseline.revision}), paired by seed, 95% intervals of all figures together:",
        markup=False,
        soft_wrap=True,
    )
    for change in changes:
        console.print(Text(f"  {change.in_words()}", style=_STYLES.get(change.change, "")), soft_wrap=True)


def _suites(runs: Sequence[JudgedRun]) -> Iterator[JunitSuite]:
    """The suites of the runs, by seed, where there are several."""
    for run in runs:
        if run.suite is not None:
            seed = run.suite.properties.get("seed", "")
            yield run.suite if len(runs) == 1 else replace(run.suite, name=f"{run.suite.name}: seed {seed}")


def _codes(changes: Sequence[FigureChange]) -> Iterator[ExitCode]:
    found = {change.change for change in changes}
    if Change.WORSE in found:
        yield ExitCode.VIOLATED
    if Change.NOT_JUDGED in found:
        yield ExitCode.INVALID
    yield ExitCode.CORRECT
