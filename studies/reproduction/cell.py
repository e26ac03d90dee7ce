"""The cells of a reproduction: an experiment with one seed, in which its claims are measured."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from msgspec import UNSET, UnsetType

from analysis.claims import Claim, Measurement
from analysis.claims.figures import DrawnFigure, draw
from analysis.claims.measured_run import MeasuredRun, open_measured
from analysis.claims.shipped import MEASURES, TIMED
from analysis.compare.model import VariantComparison
from analysis.tables.summary import Summary
from emulation.planning.calibration import Calibration
from emulation.planning.plan import Plan
from emulation.run.directory import RunOutcome
from emulation.runtimes.ladder import SIMULATED
from emulation.simulation.run import simulate
from record.manifest import ChosenDilation
from scenario.yaml_files.source import as_yaml
from studies.cells import Cell, CellResult
from studies.reproduction.plan import Experiment
from studies.reproduction.twin import beside_twin


class ReproductionResult(CellResult, frozen=True, kw_only=True):
    """The result of one run: the measurements of all claims that it serves."""

    scenario: str
    """The experiment's name."""
    seed: int
    measurements: dict[str, Measurement]
    """Measurements by the claim's id."""
    figures: tuple[DrawnFigure, ...] = ()
    """The paper's figures, drawn from this run."""
    program: str = ""
    """Digest of the code behind it (`program_digest`); empty for a result of a version without it."""
    twin: tuple[VariantComparison, ...] = ()
    """Variants on real brokers (the second run) beside their simulated twins (the first); empty for a simulated run."""
    dilation: ChosenDilation | UnsetType = UNSET
    """The time dilation of all runs of the scenario, where rehearsals chose it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReproductionCell(Cell[ReproductionResult]):
    """An experiment with one seed and all its variants, on one runtime."""

    study = "reproduction"

    experiment: Experiment
    seed: int
    runtime: str

    @classmethod
    def of(cls, experiment: Experiment, seed: int, runtime: str) -> ReproductionCell:
        scenario = as_yaml({**experiment.resolved, "seed": seed})
        key = f"{experiment.name}-{seed}"
        return cls(key=key, scenario=scenario, experiment=experiment, seed=seed, runtime=runtime)

    @property
    def fingerprint(self) -> str:
        """The experiment's, which includes what is measured, and the runtime."""
        return f"{self.experiment.fingerprint}-{self.runtime}"

    def simulate(self, plan: Plan, directory: Path) -> RunOutcome:
        """Runs the plan in virtual time.

        A broker's work takes the service time of the scenario and nothing else, because the cost of this project's own
        brokers on some host is irrelevant to a paper. The processor time of routers is logged where a claim is about
        it, and does not affect the run. Elsewhere it is left out, because brokers would read a clock five times a
        publication.
        """
        measures = {claim.measured_by.measure for claim in self.experiment.claims if claim.measured_by is not None}
        stopwatch = time.thread_time_ns if measures & TIMED else None
        return simulate(plan, directory, calibration=Calibration.free(), stopwatch=stopwatch)

    def read(self, outcome: RunOutcome, summary: Summary, runtime: str) -> ReproductionResult:
        """The measurements of all claims, and the paper's figures."""
        run = open_measured(outcome.directory)
        return ReproductionResult(
            scenario=self.experiment.name,
            seed=self.seed,
            runtime=runtime,
            fingerprint=self.fingerprint,
            measurements={claim.id: measure(run, claim) for claim in self.experiment.claims},
            figures=tuple(draw(run, recipe) for recipe in self.experiment.figures),
            delivery=summary.delivery,
            fidelity=summary.fidelity,
            program=self.experiment.program,
            twin=() if runtime == SIMULATED else beside_twin(self.plan(), outcome.directory),
            dilation=UNSET if runtime == SIMULATED else self.dilation,
        )


def measure(run: MeasuredRun, claim: Claim) -> Measurement:
    """The measurement in Python's own numbers, because those of NumPy, which measures use, cannot be stored."""
    assert claim.measured_by is not None
    found = MEASURES[claim.measured_by.measure](run, claim.measured_by)
    values = tuple(None if value is None else float(value) for value in found.values)
    return Measurement(values=values, checked=int(found.checked), example=found.example)
