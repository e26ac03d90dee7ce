"""`brokerlab reproduce`: measures claims and compares them with the published values in a table."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
from msgspec import UNSET
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from analysis.claims import Claim, Claims, JudgedClaim, judge, load_claims
from analysis.claims.quick_forms import load_quick_forms
from emulation.run.interrupt import Interrupted
from emulation.run.progress import duration
from emulation.runtimes.ladder import RUNTIMES
from record.errors import BadInputError
from record.exit_codes import ExitCode
from record.wording import count_of
from scenario.model import AUTO
from studies.cells.attempt import CellFailure
from studies.cells.executors.interface import ExecutorOptions
from studies.cells.failures import failed_code, failure_lines
from studies.cells.scheduler import run_cells
from studies.dilations import rehearsing_for
from studies.reproduction import (
    MeasuredExperiment,
    ReproductionCell,
    ReproductionPlan,
    ReproductionResult,
    ResultStore,
    cells,
    chosen_claims,
    costed,
    judgements,
    load_recorded,
    measurable_on,
    open_store,
    plan_experiments,
    planned_runs,
    unmeasured,
    whole,
)
from studies.reproduction.plan import first_seeds
from studies.reproduction.plan_sentences import announcement, plan_table
from studies.reproduction.reasons import reasons, remarks
from studies.reproduction.sentences import closing_lines, reported, table, violated

_WIDTH_IN_FILES = 140
_PLANNING = "planning: checking the claims' scenarios and estimating their size"
"""Printed at once, because that takes half a minute for all claims."""
_PACE = 1.0
"""Seconds that a run takes for each second of its recorded processor time, until some have run."""

Show = Callable[[Sequence[JudgedClaim], Sequence[ReproductionResult]], None]
"""Prints judgements and remarks on the runs behind them."""


@dataclass(frozen=True, slots=True)
class ReproductionRequest:
    """The user's request."""

    names: tuple[str, ...]
    seeds: range | None
    quick: bool
    """One seed of everything, with smaller forms of scenarios where there are some."""
    overrides: Mapping[str, str]
    """Fields set in every scenario."""
    options: ExecutorOptions
    out: Path
    fresh: bool
    """Runs that were measured before are made again."""

    def __post_init__(self) -> None:
        if self.options.runtime not in RUNTIMES:
            raise BadInputError(f"--runtime {self.options.runtime}: choose {', '.join(RUNTIMES)}")
        if self.quick and self.seeds is not None:
            raise BadInputError("--seeds: --quick runs one seed of each scenario; leave one of them out")


@dataclass(frozen=True, slots=True)
class Reproduction:
    """The claims, the plan and the store of a request."""

    claims: Claims
    """The claims that were asked for, with all papers' other claims when all were."""
    unmeasurable: tuple[Claim, ...]
    """Claims that the runtime cannot measure."""
    plan: ReproductionPlan
    cells: tuple[ReproductionCell, ...]
    runtime: str
    store: ResultStore

    @classmethod
    def of(cls, request: ReproductionRequest) -> Reproduction:
        """Raises `UserError`s."""
        shipped, runtime = load_claims(), request.options.runtime
        chosen = chosen_claims(shipped, request.names)
        claims, unmeasurable = measurable_on(runtime, chosen)
        seeds = first_seeds(1) if request.quick else request.seeds
        forms = load_quick_forms() if request.quick else {}
        planned = plan_experiments(claims, seeds, overrides=request.overrides, quick_forms=forms)
        experiments = costed(planned, load_recorded())
        plan = whole(experiments) if seeds is None else ReproductionPlan(experiments)
        papers = {id: paper for id, paper in shipped.papers.items() if any(claim.paper == id for claim in chosen)}
        shown = Claims(papers=papers, claims=chosen) if request.names else shipped
        return cls(shown, unmeasurable, plan, cells(plan, runtime), runtime, open_store(request.out))

    @property
    def runs(self) -> list[MeasuredExperiment]:
        """All runs that have a result."""
        return planned_runs(self.plan.experiments, self.runtime, self.store)

    @property
    def failed(self) -> dict[str, CellFailure]:
        """The planned runs that failed, by key."""
        return self.store.failures(self.cells)

    def judged(self, runs: Sequence[MeasuredExperiment]) -> list[JudgedClaim]:
        return [*judgements(runs), *(judge(claim, []) for claim in self.unmeasurable)]

    def announced(self, needed: Sequence[ReproductionCell]) -> Iterator[str]:
        """The extent of the runs that are still to be made, and the claims that this runtime cannot measure."""
        yield from announcement(self.plan, needed)
        for claim in self.unmeasurable:
            yield f"{claim.id} is not measured: {' '.join(reasons(judge(claim, [])))}"

    def write_page(self, runs: Sequence[MeasuredExperiment]) -> Path:
        """Writes the page of these runs, and returns its path."""
        from studies.reproduction.report import ReproductionData, build_report  # noqa: PLC0415 - Plotly loads slowly

        return build_report(ReproductionData(self.claims, self.judged(runs), runs, self.failed), self.store.path)


def reproduce_claims(request: ReproductionRequest, show: Show) -> ExitCode:
    """Runs what the claims need, judges them, shows the judgements and writes the page. Raises `UserError`s."""
    console = Console(stderr=True, highlight=False)
    console.print(_PLANNING)
    reproduction = Reproduction.of(request)
    with reproduction.store.held():
        began = time.monotonic()
        needed = list(reproduction.cells) if request.fresh else unmeasured(reproduction.store, reproduction.cells)
        for cell in needed:
            reproduction.store.forget(cell)
        for line in reproduction.announced(needed):
            console.print(line, markup=False, soft_wrap=True)
        changed = "".join(f"; {key}: {value}" for key, value in request.overrides.items())
        runtime = f"{request.options.runtime} on {request.options.location}"
        console.print(f"{runtime}{changed}", markup=False, soft_wrap=True)
        try:
            needed = _dilated(reproduction, request.options, needed, console)
        except Interrupted:
            console.print("interrupted while a rehearsal chose a time dilation; nothing more was run")
            return ExitCode.INTERRUPTED
        if run_cells(request.options, reproduction.store, needed, console, _PACE):
            return _conclude(reproduction, len(needed), time.monotonic() - began, show, console)
        console.print(
            "interrupted; measurements are kept: the same command continues with the rest\n"
            f"page of what is measured so far: {reproduction.write_page(reproduction.runs)}",
            markup=False,
            soft_wrap=True,
        )
        return ExitCode.INTERRUPTED


def _dilated(
    reproduction: Reproduction, options: ExecutorOptions, needed: Sequence[ReproductionCell], console: Console
) -> list[ReproductionCell]:
    """The cells, those of a scenario that leaves its time dilation to rehearsals with the one for all of its runs."""
    chosen = {run.scenario: run.dilation for _, runs in reproduction.runs for run in (made.result for made in runs)}
    for cell in needed:
        name = cell.experiment.name
        if cell.experiment.resolved["time_dilation"] != AUTO or chosen.get(name, UNSET) is not UNSET:
            continue
        rehearsing = rehearsing_for(options, console)
        if rehearsing is None:
            break
        chosen[name] = rehearsing.choose([cell.plan()])
    return [replace(cell, dilation=chosen.get(cell.experiment.name, UNSET)) for cell in needed]


def _conclude(reproduction: Reproduction, made: int, seconds: float, show: Show, console: Console) -> ExitCode:
    """Shows judgements, failures, effort and the page."""
    runs, failed = reproduction.runs, reproduction.failed
    judged = reproduction.judged(runs)
    found = [run.result for _, of_experiment in runs for run in of_experiment]
    show(judged, found)
    for line in (*failure_lines(failed), *_effort(runs, made, seconds)):
        console.print(line, markup=False, soft_wrap=True)
    console.print(
        f"what each run measured: {reproduction.store.cells}\npage: {reproduction.write_page(runs)}",
        markup=False,
        soft_wrap=True,
    )
    return ExitCode.VIOLATED if violated(judged, found) else failed_code(failed)


def _effort(runs: Sequence[MeasuredExperiment], made: int, seconds: float) -> Iterator[str]:
    """Elapsed time of the runs that were made, and processor time and memory of all that have a result."""
    found = [run for _, of_experiment in runs for run in of_experiment]
    if not found:
        return
    cpu = duration(sum(run.cpu_seconds for run in found))
    largest = max(found, key=lambda run: run.memory_mb)
    yield (
        f"{count_of(made, 'run')} in {duration(seconds)}; processor time of all {len(found)}: {cpu}; "
        f"most memory of a run: {largest.memory_mb:,.0f} MB ({largest.result.scenario}, seed {largest.result.seed})"
    )


def show_plan(request: ReproductionRequest) -> ExitCode:
    """Shows the scenarios that would be run, their claims, seeds and processor time, and runs nothing."""
    Console(stderr=True, highlight=False).print(_PLANNING)
    reproduction = Reproduction.of(request)
    console = Console(highlight=False, width=None if sys.stdout.isatty() else _WIDTH_IN_FILES)
    console.print(plan_table(reproduction.plan))
    console.print()
    for line in reproduction.announced(reproduction.cells):
        console.print(line, markup=False, soft_wrap=True)
    return ExitCode.CORRECT


def show_table(judged: Sequence[JudgedClaim], found: Sequence[ReproductionResult]) -> None:
    """Prints a table for people; in a file as wide as it takes, on a terminal as wide as that is."""
    console = Console(highlight=False, width=None if sys.stdout.isatty() else _WIDTH_IN_FILES)
    console.print(table(judged))
    for judgement in judged:
        if lines := list(remarks(judgement)):
            console.print(
                Text(f"\n{judgement.claim.id}: ", style="bold").append(f"{judgement.verdict}", style="default")
            )
            console.print(Padding(Text("\n".join(lines)), (0, 0, 0, 2)))
    console.print()
    for line in closing_lines(judged, found):
        console.print(line, markup=False, soft_wrap=True)


def show_json(judged: Sequence[JudgedClaim], found: Sequence[ReproductionResult]) -> None:
    """Prints one JSON list for scripts on standard output."""
    lines = msgspec.json.format(msgspec.json.encode([reported(judgement) for judgement in judged]), indent=2)
    sys.stdout.write(lines.decode() + "\n")
    for line in closing_lines(judged, found):
        sys.stderr.write(line + "\n")


def list_claims() -> ExitCode:
    """Shows every claim and whether there is a scenario for it."""
    claims = load_claims()
    console = Console(highlight=False)
    console.print(_listing(claims))
    console.print(f"\n{len(claims.measurable)} of {count_of(len(claims.claims), 'claim')} with a scenario")
    return ExitCode.CORRECT


def _listing(claims: Claims) -> Table:
    listing = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    listing.add_column("claim", no_wrap=True)
    listing.add_column("kind", no_wrap=True)
    listing.add_column("what")
    listing.add_column("scenario", no_wrap=True)
    for claim in claims.claims:
        scenario = Text("-", style="dim") if claim.measured_by is None else Text(claim.measured_by.scenario)
        listing.add_row(claim.id, claim.kind.value, claim.what, scenario)
    return listing
