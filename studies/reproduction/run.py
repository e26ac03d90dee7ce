"""Runs the cells of a reproduction on the chosen runtime, and judges the claims by what they found."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing

from rich.console import Console

from analysis.claims import Claim, Judgement, Measurement, judge
from emulation.host.worker_processes import WorkerProcesses
from emulation.run import emulate
from emulation.runtimes.ladder import AUTO, RUNTIMES, SIMULATED, Rungs, choose
from record.errors import BadInputError
from studies.reproduction.cell import CellWork, measure_cell, simulate_cell
from studies.reproduction.plan import Cell, Experiment
from studies.reproduction.results import CellResult, Store

RunCells = Callable[[Sequence[CellWork]], Generator[CellWork, None, None]]
"""Runs cells and yields each as it is done."""


def simulated_cells(jobs: int) -> RunCells:
    """On the simulator, so many at a time."""

    def run(work: Sequence[CellWork]) -> Generator[CellWork, None, None]:
        processes = WorkerProcesses(simulate_cell, jobs, preload=[simulate_cell.__module__])
        with closing(processes.run(work)) as done:
            yield from done

    return run


def emulated_cells(runtime: str, console: Console) -> RunCells:
    """On this host's containers or processes, one after another, in real time. Raises `UserError`s."""
    if runtime not in RUNTIMES or runtime == SIMULATED:
        raise BadInputError(f"there is no runtime {runtime!r}; choose {', '.join(RUNTIMES)}")
    rungs = choose(runtime, AUTO, lambda line: console.print(line, markup=False, soft_wrap=True))
    assert isinstance(rungs, Rungs)

    def run(work: Sequence[CellWork]) -> Generator[CellWork, None, None]:
        for one in work:
            measure_cell(one, lambda plan, out: emulate(plan, rungs, out, console, lambda: None))
            yield one

    return run


def results(experiments: Iterable[Experiment], store: Store) -> list[CellResult]:
    """Of all cells that have been run."""
    found = [store.read(Cell(experiment, seed)) for experiment in experiments for seed in experiment.seeds]
    return [result for result in found if result is not None]


def judgements(experiments: Iterable[Experiment], store: Store) -> list[Judgement]:
    """Of all claims, by the results that there are, of all the scenarios that a claim is measured in."""
    claims: dict[str, Claim] = {}
    measured: dict[str, list[Measurement]] = {}
    for experiment in experiments:
        found = results([experiment], store)
        for claim in experiment.claims:
            claims[claim.id] = claim
            measured.setdefault(claim.id, []).extend(one.measurements[claim.id] for one in found)
    return [judge(claim, measured[id]) for id, claim in claims.items()]
