"""One cell: runs, analyses and measures a scenario with one seed, and removes the run directory unless it is kept."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from analysis.claims import Claim, Measurement
from analysis.claims.figures import draw
from analysis.claims.measured_run import MeasuredRun, open_measured
from analysis.claims.shipped import MEASURES
from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from emulation.planning.plan import Plan, make_plan
from emulation.run.directory import RunOutcome
from emulation.simulation.calibration import Calibration
from emulation.simulation.run import simulate
from record.errors import UserError
from scenario.model import Scenario
from studies.reproduction.plan import Cell
from studies.reproduction.results import CellResult, ResultStore

Run = Callable[[Plan, Path], RunOutcome]
"""Runs a plan, given the parent of the run directory."""

SIMULATION: Run = partial(simulate, calibration=Calibration.free(), stopwatch=time.thread_time_ns)
"""Runs a plan on the simulator.

A broker's work takes the service time of the scenario and nothing else, because the cost of this project's own brokers
on some host is irrelevant to a paper. The processor time of routers is logged for the claims about it, and does not
affect the run.
"""


@dataclass(frozen=True, slots=True)
class CellWork:
    """A cell with the store of its result. `keep_runs` keeps the run directory."""

    cell: Cell
    store: ResultStore
    keep_runs: bool

    def __str__(self) -> str:
        return f"{self.cell.experiment.name}, seed {self.cell.seed}"

    @property
    def directory(self) -> Path:
        """Directory that holds the run directory of the cell."""
        return self.store.runs / self.cell.name

    def tidy(self) -> None:
        """Removes the run directory unless it is kept."""
        if not self.keep_runs:
            shutil.rmtree(self.directory, ignore_errors=True)


def simulate_cell(work: CellWork) -> None:
    """Runs a cell on the simulator, in a worker process. A user's mistake goes to stderr and sets the exit code."""
    try:
        store_cell(work, SIMULATION)
    except UserError as error:
        sys.stderr.write(f"{work}: {error}\n")
        sys.exit(error.exit_code)


def store_cell(work: CellWork, run: Run) -> None:
    """Runs a cell and writes its result. Raises as `measure_cell`."""
    try:
        work.store.write(
            work.cell, measure_cell(work.cell, work.cell.scenario(), work.store.runtime, work.directory, run)
        )
    finally:
        work.tidy()


def measure_cell(cell: Cell, scenario: Scenario, runtime: str, directory: Path, run: Run) -> CellResult:
    """Runs a cell, whose scenario with its seed is given, and measures it. The run directory is made in `directory`.

    Raises `KeyboardInterrupt` when the user ended the run, because an incomplete run measures nothing.
    """
    began, worked = time.monotonic(), time.process_time()
    directory.mkdir(parents=True, exist_ok=True)
    outcome = run(make_plan(scenario), directory)
    if outcome.interrupted:
        raise KeyboardInterrupt
    summary = analyze(outcome.directory, PlainEngine())
    measured = open_measured(outcome.directory)
    return CellResult(
        scenario=cell.experiment.name,
        seed=cell.seed,
        runtime=runtime,
        fingerprint=cell.experiment.fingerprint,
        measurements=_measure(measured, cell.experiment.claims),
        figures=tuple(draw(measured, recipe) for recipe in cell.experiment.figures),
        delivery=summary.delivery,
        fidelity=summary.fidelity,
        seconds=time.monotonic() - began,
        cpu_seconds=time.process_time() - worked,
    )


def _measure(run: MeasuredRun, claims: tuple[Claim, ...]) -> dict[str, Measurement]:
    measurements = {}
    for claim in claims:
        assert claim.measured_by is not None
        measurements[claim.id] = MEASURES[claim.measured_by.measure](run, claim.measured_by)
    return measurements
