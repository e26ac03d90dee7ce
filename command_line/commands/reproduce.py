"""`brokerlab reproduce`: measures claims and compares them with the published values in a table."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import msgspec
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from analysis.claims import Claim, Claims, JudgedClaim, judge, load_claims
from analysis.claims.quick_forms import load_quick_forms
from emulation.run.progress import duration
from emulation.runtimes.ladder import RUNTIMES, SIMULATED
from record.errors import BadInputError
from record.exit_codes import ExitCode
from studies.reproduction import (
    CellFailure,
    CellResult,
    CellWork,
    CostedCell,
    ReproductionPlan,
    ResultStore,
    RunCells,
    cells,
    chosen_claims,
    costed,
    emulated_cells,
    judgements,
    load_recorded,
    measurable_on,
    plan_experiments,
    results,
    simulated_cells,
    spark_cells,
    whole,
)
from studies.reproduction.plan_sentences import announcement, plan_table
from studies.reproduction.progress import follow
from studies.reproduction.sentences import (
    closing_lines,
    explanation,
    failed_code,
    failure_lines,
    reported,
    table,
    violated,
)

_WIDTH_IN_FILES = 140
_PLANNING = "planning: checking the claims' scenarios and estimating their size"
"""Printed at once, because that takes half a minute for all claims."""

Show = Callable[[Sequence[JudgedClaim], Sequence[CellResult]], None]
"""Prints judgements and remarks on the runs behind them."""


@dataclass(frozen=True, slots=True)
class ReproductionRequest:
    """The user's request."""

    names: tuple[str, ...]
    seeds: int | None
    quick: bool
    """One seed of everything, with smaller forms of scenarios where there are some."""
    overrides: Mapping[str, str]
    """Fields set in every scenario."""
    runtime: str
    jobs: int | None
    """Simulations side by side; as many as CPUs by default."""
    master: str | None
    """URL of the Spark master that simulations are spread over; None for processes of this host."""
    out: Path
    resume: bool
    keep_runs: bool

    def __post_init__(self) -> None:
        if self.runtime not in RUNTIMES:
            raise BadInputError(f"--runtime {self.runtime}: choose {', '.join(RUNTIMES)}")
        if self.quick and self.seeds is not None:
            raise BadInputError(f"--seeds {self.seeds}: --quick runs one seed of each scenario; leave one of them out")
        if self.jobs is not None and self.runtime != SIMULATED:
            raise BadInputError(
                f"--jobs {self.jobs}: is for simulated runs, because real ones run one at a time: leave it out"
            )
        if self.master is None:
            return
        if self.runtime != SIMULATED:
            raise BadInputError(f"--spark-master {self.master}: Spark runs simulations; leave --runtime out")
        if self.jobs is not None:
            raise BadInputError(f"--jobs {self.jobs}: Spark runs as many as its executors have cores: leave it out")
        if self.keep_runs:
            raise BadInputError("--keep-runs: run directories stay with Spark's executors: leave it or the master out")

    @property
    def in_parallel(self) -> int:
        """The number of runs at the same time, as far as it is known."""
        return (self.jobs or len(os.sched_getaffinity(0))) if self.runtime == SIMULATED else 1

    @property
    def location(self) -> str:
        """The place where cells run, as the user reads it."""
        if self.runtime != SIMULATED:
            return f"runtime {self.runtime}"
        return f"simulated, {self.in_parallel} at a time" if self.master is None else f"simulated on {self.master}"

    def run_cells(self, console: Console) -> RunCells:
        if self.runtime != SIMULATED:
            return emulated_cells(self.runtime, console)
        return simulated_cells(self.in_parallel) if self.master is None else spark_cells(self.master)


@dataclass(frozen=True, slots=True)
class Reproduction:
    """The claims, the plan and the store of a request."""

    claims: Claims
    """The claims that were asked for, with all papers' other claims when all were."""
    unmeasurable: tuple[Claim, ...]
    """Claims that the runtime cannot measure."""
    plan: ReproductionPlan
    store: ResultStore

    @classmethod
    def of(cls, request: ReproductionRequest) -> Reproduction:
        """Raises `UserError`s."""
        shipped = load_claims()
        chosen = chosen_claims(shipped, request.names)
        claims, unmeasurable = measurable_on(request.runtime, chosen)
        seeds = 1 if request.quick else request.seeds
        forms = load_quick_forms() if request.quick else {}
        planned = plan_experiments(claims, seeds, overrides=request.overrides, quick_forms=forms)
        experiments = costed(planned, load_recorded())
        plan = whole(experiments) if seeds is None else ReproductionPlan(experiments)
        papers = {id: paper for id, paper in shipped.papers.items() if any(claim.paper == id for claim in chosen)}
        shown = Claims(papers=papers, claims=chosen) if request.names else shipped
        return cls(shown, unmeasurable, plan, ResultStore(request.out, request.runtime))

    @property
    def found(self) -> list[CellResult]:
        """All results that exist."""
        return results(self.plan.experiments, self.store)

    @property
    def failed(self) -> dict[str, CellFailure]:
        """The planned runs that failed, by name."""
        works = [CellWork(entry.cell, self.store, keep_runs=False) for entry in cells(self.plan.chosen)]
        return {str(work): work.failure for work in works if work.failure is not None}

    def judged(self) -> list[JudgedClaim]:
        without_run = [judge(claim, []) for claim in self.unmeasurable]
        return [*judgements(self.plan.experiments, self.store), *without_run]

    def write_page(self) -> Path:
        """Writes the page of what has been measured so far, and returns its path."""
        from studies.reproduction.report import ReproductionData, build_report  # noqa: PLC0415 - Plotly loads slowly

        runs = [(experiment, results([experiment], self.store)) for experiment in self.plan.experiments]
        return build_report(ReproductionData(self.claims, self.judged(), runs, self.failed), self.store.directory)


def reproduce_claims(request: ReproductionRequest, show: Show) -> ExitCode:
    """Runs what the claims need, judges them, shows the judgements and writes the page. Raises `UserError`s."""
    console = Console(stderr=True, highlight=False)
    began = time.monotonic()
    console.print(_PLANNING)
    reproduction = Reproduction.of(request)
    store, planned = reproduction.store, cells(reproduction.plan.chosen)
    needed = [entry for entry in planned if not request.resume or store.read(entry.cell) is None]
    for line in announcement(reproduction.plan, needed):
        console.print(line, markup=False, soft_wrap=True)
    changed = "".join(f"; {key}: {value}" for key, value in request.overrides.items())
    console.print(f"{request.location}{changed}", markup=False, soft_wrap=True)
    for entry in needed:
        store.forget(entry.cell)
    run = request.run_cells(console)
    work = [CellWork(entry.cell, store, request.keep_runs) for entry in needed]
    try:
        with closing(run(work)) as done:
            follow(needed, done, request.in_parallel, console)
    except KeyboardInterrupt:
        console.print(
            "interrupted; measurements are kept: the same command with --resume continues\n"
            f"page of what is measured so far: {reproduction.write_page()}",
            markup=False,
            soft_wrap=True,
        )
        return ExitCode.INTERRUPTED
    finally:
        for cell_work in work:
            cell_work.tidy()
        store.tidy()
    judged, found, failed = reproduction.judged(), reproduction.found, reproduction.failed
    show(judged, found)
    for line in (*failure_lines(failed), *_effort(needed, found, time.monotonic() - began)):
        console.print(line, markup=False, soft_wrap=True)
    console.print(
        f"what each run measured: {store.cells}\npage: {reproduction.write_page()}", markup=False, soft_wrap=True
    )
    return ExitCode.VIOLATED if violated(judged, found) else failed_code(failed)


def _effort(needed: Sequence[CostedCell], found: Sequence[CellResult], seconds: float) -> Iterator[str]:
    """Elapsed time of the runs that were made, and processor time and memory of all that have a result."""
    if not found:
        return
    cpu = duration(sum(result.cpu_seconds for result in found))
    largest = max(found, key=lambda result: result.memory_mb)
    yield (
        f"{len(needed)} runs in {duration(seconds)}; processor time of all {len(found)}: {cpu}; "
        f"most memory of a run: {largest.memory_mb:,.0f} MB ({largest.scenario}, seed {largest.seed})"
    )


def show_plan(request: ReproductionRequest) -> ExitCode:
    """Shows the scenarios that would be run, their claims, seeds and processor time, and runs nothing."""
    Console(stderr=True, highlight=False).print(_PLANNING)
    plan = Reproduction.of(request).plan
    console = Console(highlight=False, width=None if sys.stdout.isatty() else _WIDTH_IN_FILES)
    console.print(plan_table(plan))
    console.print()
    for line in announcement(plan, cells(plan.chosen)):
        console.print(line, markup=False, soft_wrap=True)
    return ExitCode.CORRECT


def show_table(judged: Sequence[JudgedClaim], found: Sequence[CellResult]) -> None:
    """Prints a table for people; in a file as wide as it takes, on a terminal as wide as that is."""
    console = Console(highlight=False, width=None if sys.stdout.isatty() else _WIDTH_IN_FILES)
    console.print(table(judged))
    for judgement in judged:
        if text := explanation(judgement):
            console.print(
                Text(f"\n{judgement.claim.id}: ", style="bold").append(f"{judgement.verdict}", style="default")
            )
            console.print(Padding(Text(text), (0, 0, 0, 2)))
    console.print()
    for line in closing_lines(judged, found):
        console.print(line, markup=False, soft_wrap=True)


def show_json(judged: Sequence[JudgedClaim], found: Sequence[CellResult]) -> None:
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
    console.print(f"\n{len(claims.measurable)} of {len(claims.claims)} claims have a scenario")
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
