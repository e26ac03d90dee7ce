"""`brokerlab reproduce`: measures claims and compares them with the published values in a table."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import msgspec
from rich.console import Console
from rich.padding import Padding
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from analysis.claims import Claims, JudgedClaim, judge, load_claims
from emulation.run.progress import duration
from emulation.runtimes.ladder import RUNTIMES, SIMULATED
from record.errors import BadInputError
from record.exit_codes import ExitCode
from studies.reproduction import (
    Cell,
    CellResult,
    CellWork,
    ResultStore,
    cells,
    chosen_claims,
    emulated_cells,
    judgements,
    measurable_on,
    plan_experiments,
    results,
    simulated_cells,
)
from studies.reproduction.sentences import closing_lines, explanation, reported, table, violated

_WIDTH_IN_FILES = 140

Show = Callable[[Sequence[JudgedClaim], Sequence[CellResult]], None]
"""Prints judgements and remarks on the runs behind them."""


@dataclass(frozen=True, slots=True)
class ReproductionRequest:
    """The user's request."""

    names: tuple[str, ...]
    seeds: int | None
    overrides: Mapping[str, str]
    """Fields set in every scenario."""
    runtime: str
    jobs: int | None
    """Simulations side by side; as many as CPUs by default."""
    out: Path
    resume: bool
    keep_runs: bool


def reproduce_claims(request: ReproductionRequest, show: Show) -> ExitCode:
    """Runs what the claims need, judges them and shows the judgements. Raises `UserError`s."""
    if request.runtime not in RUNTIMES:
        raise BadInputError(f"--runtime {request.runtime}: choose {', '.join(RUNTIMES)}")
    if request.jobs is not None and request.runtime != SIMULATED:
        raise BadInputError(
            f"--jobs {request.jobs}: is for simulated runs, because real ones run one at a time: leave it out"
        )
    jobs = request.jobs or len(os.sched_getaffinity(0))
    console = Console(stderr=True, highlight=False)
    began = time.monotonic()
    claims, unmeasurable = measurable_on(request.runtime, chosen_claims(load_claims(), request.names))
    experiments = plan_experiments(claims, request.seeds, overrides=request.overrides)
    store = ResultStore(request.out, request.runtime)
    planned = cells(experiments)
    needed = [cell for cell in planned if not request.resume or store.read(cell) is None]
    where = f"simulated, {jobs} at a time" if request.runtime == SIMULATED else f"runtime {request.runtime}"
    changed = "".join(f"; {key}: {value}" for key, value in request.overrides.items())
    announcement = _announcement(len(claims), planned, needed, where)
    console.print(f"{announcement}{changed}", markup=False, soft_wrap=True)
    for cell in needed:
        store.forget(cell)
    run = simulated_cells(jobs) if request.runtime == SIMULATED else emulated_cells(request.runtime, console)
    work = [CellWork(cell, store, request.keep_runs) for cell in needed]
    try:
        with closing(run(work)) as done:
            _follow(needed, done, console)
    except KeyboardInterrupt:
        message = "interrupted; measurements are kept: the same command with --resume continues"
        console.print(message, soft_wrap=True)
        return ExitCode.INTERRUPTED
    finally:
        for cell_work in work:
            cell_work.tidy()
        store.tidy()
    judged = [*judgements(experiments, store), *(judge(claim, []) for claim in unmeasurable)]
    found = results(experiments, store)
    show(judged, found)
    took = duration(time.monotonic() - began)
    cpu = duration(sum(result.cpu_seconds for result in found))
    console.print(
        f"{len(needed)} runs in {took} (processor time of all {len(found)}: {cpu}); what each measured: {store.cells}",
        markup=False,
        soft_wrap=True,
    )
    return ExitCode.VIOLATED if violated(judged, found) else ExitCode.CORRECT


def show_table(judged: Sequence[JudgedClaim], found: Sequence[CellResult]) -> None:
    """For people; in a file as wide as it takes, on a terminal as wide as that is."""
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
    """For scripts: one JSON list on standard output."""
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


def _announcement(claims: int, planned: Sequence[Cell], needed: Sequence[Cell], where: str) -> str:
    again = f", {len(planned) - len(needed)} of them done before" if len(needed) < len(planned) else ""
    return f"{claims} claims from {len(planned)} runs{again}; {where}"


def _follow(needed: Sequence[Cell], done: Iterable[CellWork], console: Console) -> None:
    """A bar with the time left on a terminal, a line for each run elsewhere."""
    total = sum(cell.experiment.weight for cell in needed)
    columns = (BarColumn(), TextColumn("{task.fields[runs]}"), TimeRemainingColumn(), TextColumn("left"))
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=total, runs=f"0 of {len(needed)} runs")
        for number, work in enumerate(done, start=1):
            progress.update(task, advance=work.cell.experiment.weight, runs=f"{number} of {len(needed)} runs")
            if not console.is_terminal:
                console.print(f"[{number}/{len(needed)}] {work}", markup=False, soft_wrap=True)
