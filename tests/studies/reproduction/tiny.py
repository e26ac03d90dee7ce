"""A scenario that takes milliseconds to simulate, and the cells and results of a reproduction, made up for tests."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from analysis.claims import Measurement
from record.manifest import ChosenDilation
from studies.cells.attempt import Attempt
from studies.reproduction import Experiment, ReproductionCell, ReproductionResult, ResultStore

TINY = """\
name: tiny
topology: {kind: ring, brokers: 4}
routing: {protocol: tid}
workload:
  publications: {publishers: 1, rate: 5/s}
  subscriptions: {subscribers: 2, selectivity: 40%}
timeline: {join: 2s, run: 2s, drain: 2s}
"""


def attempt(result: ReproductionResult, cpu_seconds: float = 1.0) -> Attempt[ReproductionResult]:
    return Attempt(host="here", began="2026-01-31T12:00:00+00:00", seconds=1.0, cpu_seconds=cpu_seconds, result=result)


def measured(cell: ReproductionCell, value: float, dilation: ChosenDilation | UnsetType = UNSET) -> ReproductionResult:
    """The result of a cell that measured this value for each of its claims."""
    return ReproductionResult(
        scenario=cell.experiment.name, seed=cell.seed, runtime=cell.runtime, fingerprint=cell.fingerprint,
        measurements={claim.id: Measurement(values=(value,)) for claim in cell.experiment.claims},
        delivery=["correct"], fidelity="VALID", program=cell.experiment.program, dilation=dilation,
    )  # fmt: skip


def store_measured(store: ResultStore, experiment: Experiment, seed: int, value: float) -> None:
    cell = ReproductionCell.of(experiment, seed, "simulated")
    store.record(cell, attempt(measured(cell, value)), final=True)
