"""One cell: runs, analyses and measures a scenario with one seed, and removes the run directory unless it is kept."""

from __future__ import annotations

import resource
import shutil
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from analysis.claims import Claim, Measurement
from analysis.claims.figures import draw
from analysis.claims.measured_run import MeasuredRun, open_measured
from analysis.claims.shipped import MEASURES, TIMED
from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from emulation.planning.calibration import Calibration
from emulation.planning.plan import Plan, make_plan
from emulation.run.directory import RunOutcome
from emulation.simulation.run import simulate
from record.errors import UserError
from record.exit_codes import ExitCode
from scenario.model import Scenario
from studies.reproduction.plan import Cell, Experiment
from studies.reproduction.results import CellFailure, CellResult, ResultStore

_KIB = 1024
"""Unit of `ru_maxrss` on Linux, in bytes."""
Run = Callable[[Plan, Path], RunOutcome]
"""Runs a plan, given the parent of the run directory."""


def simulation_of(experiment: Experiment) -> Run:
    """The function that runs an experiment's plans on the simulator.

    A broker's work takes the service time of the scenario and nothing else, because the cost of this project's own
    brokers on some host is irrelevant to a paper. The processor time of routers is logged where a claim is about it,
    and does not affect the run. Elsewhere it is left out, because brokers would read a clock five times a publication.
    """
    timed = any(claim.measured_by is not None and claim.measured_by.measure in TIMED for claim in experiment.claims)
    return partial(simulate, calibration=Calibration.free(), stopwatch=time.thread_time_ns if timed else None)


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

    @property
    def failure(self) -> CellFailure | None:
        """The reason why the cell failed; None if it did not."""
        return self.store.failure(self.cell)

    def tidy(self) -> None:
        """Removes the run directory unless it is kept."""
        if not self.keep_runs:
            shutil.rmtree(self.directory, ignore_errors=True)


def simulate_cell(work: CellWork) -> None:
    """Runs a cell on the simulator, in a worker process, whose exit code tells of a failure."""
    failure = store_cell(work, simulation_of(work.cell.experiment))
    if failure is not None:
        sys.exit(failure.exit_code)


def store_cell(work: CellWork, run: Run) -> CellFailure | None:
    """Runs a cell and stores its result, or the failure that it returns. Raises `KeyboardInterrupt`."""
    try:
        work.store.write(
            work.cell, measure_cell(work.cell, work.cell.scenario(), work.store.runtime, work.directory, run)
        )
    except Exception as error:
        failure = failure_of(error)
        work.store.write_failure(work.cell, failure)
        return failure
    finally:
        work.tidy()
    return None


def failure_of(error: Exception) -> CellFailure:
    """The failure that an error makes of a cell. A defect of brokerlab prints its stack trace."""
    if isinstance(error, UserError):
        return CellFailure(message=str(error), exit_code=error.exit_code)
    traceback.print_exception(error)
    return CellFailure(message=f"{type(error).__name__}: {error}", exit_code=ExitCode.DEFECT)


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
        memory_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _KIB / 1e6,
    )


def _measure(run: MeasuredRun, claims: tuple[Claim, ...]) -> dict[str, Measurement]:
    measurements = {}
    for claim in claims:
        assert claim.measured_by is not None
        measurements[claim.id] = plain(MEASURES[claim.measured_by.measure](run, claim.measured_by))
    return measurements


def plain(measured: Measurement) -> Measurement:
    """The measurement in Python's own numbers, because those of NumPy, which measures use, cannot be stored."""
    return Measurement(
        values=tuple(None if value is None else float(value) for value in measured.values),
        checked=int(measured.checked),
        example=measured.example,
    )
