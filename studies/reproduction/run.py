"""Runs the cells of a reproduction on the chosen runtime, and judges the claims by the results."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing

import msgspec
from rich.console import Console

from analysis.claims import Claim, JudgedClaim, Measurement, judge
from emulation.host.worker_processes import WorkerProcesses
from emulation.run import emulate
from emulation.runtimes.ladder import AUTO, RUNTIMES, SIMULATED, Rungs, choose
from record.callbacks import do_nothing
from record.errors import BadInputError
from studies.reproduction.cell import CellWork, failure_of, simulate_cell, store_cell
from studies.reproduction.plan import Cell, Experiment
from studies.reproduction.results import CellResult, ResultStore

RunCells = Callable[[Sequence[CellWork]], Generator[CellWork, None, None]]
"""Function that runs cells and yields each one when it is done: its result or its failure is in its store then."""


def simulated_cells(jobs: int) -> RunCells:
    """Runs cells on the simulator, `jobs` at a time."""

    def run(work: Sequence[CellWork]) -> Generator[CellWork, None, None]:
        processes = WorkerProcesses(simulate_cell, jobs, preload=[simulate_cell.__module__])
        with closing(processes.outcomes(work)) as outcomes:
            for piece, failure in outcomes:
                if failure is not None and piece.failure is None:
                    piece.store.write_failure(piece.cell, failure_of(failure))
                yield piece

    return run


def spark_cells(master: str) -> RunCells:
    """Runs cells on the simulator, spread over the executors of a Spark master."""

    def run(work: Sequence[CellWork]) -> Generator[CellWork, None, None]:
        from studies.reproduction.spark import cells_on_spark  # noqa: PLC0415 - half a second, for Spark alone

        return cells_on_spark(master, work)

    return run


def emulated_cells(runtime: str, console: Console) -> RunCells:
    """Runs cells in this host's containers or processes, one after another, in real time. Raises `UserError`s."""
    if runtime not in RUNTIMES or runtime == SIMULATED:
        raise BadInputError(f"there is no runtime {runtime!r}; choose {', '.join(RUNTIMES)}")
    rungs = choose(runtime, AUTO, lambda line: console.print(line, markup=False, soft_wrap=True))
    assert isinstance(rungs, Rungs)

    def run(work: Sequence[CellWork]) -> Generator[CellWork, None, None]:
        for cell_work in work:
            store_cell(cell_work, lambda plan, out: emulate(plan, rungs, out, console, do_nothing))
            yield cell_work

    return run


def results(experiments: Iterable[Experiment], store: ResultStore) -> list[CellResult]:
    """Results of all cells that have been run."""
    found = [store.read(Cell(experiment, seed)) for experiment in experiments for seed in experiment.seeds]
    return [result for result in found if result is not None]


def judgements(experiments: Iterable[Experiment], store: ResultStore) -> list[JudgedClaim]:
    """Judgements on all claims, from the available results of every scenario in which a claim is measured."""
    return judged_by((experiment, results([experiment], store)) for experiment in experiments)


def judged_by(runs: Iterable[tuple[Experiment, Sequence[CellResult]]]) -> list[JudgedClaim]:
    """Judgements on all claims, from these results of experiments."""
    claims: dict[str, Claim] = {}
    measured: dict[str, list[Measurement]] = {}
    smaller: set[str] = set()
    for experiment, found in runs:
        for claim in experiment.claims:
            claims[claim.id] = claim
            measured.setdefault(claim.id, []).extend(result.measurements[claim.id] for result in found)
            if experiment.quick_form and found:
                smaller.add(claim.id)
    return [
        msgspec.structs.replace(judge(claim, measured[id]), from_quick_form=id in smaller)
        for id, claim in claims.items()
    ]
