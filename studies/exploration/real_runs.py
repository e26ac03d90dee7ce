"""Runs of scenarios on real brokers, judged as explored runs are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.run_files.run_directory import read_manifest
from analysis.tables.summary import BROKER_DEFECT
from emulation.planning.plan import make_plan
from emulation.run import emulate
from emulation.run.interrupt import Interrupted
from emulation.runtimes.ladder import Rungs
from record.callbacks import do_nothing
from record.errors import UserError
from record.fidelity import FidelityVerdict
from record.files import LOGS
from scenario.model import Scenario
from studies.exploration.judged_run import Defect, JudgedRun, begin_of, defects_of
from studies.exploration.records import logged
from studies.rehearsal import silent

UNFAITHFUL = "the host did not keep up, so the run proves nothing"


@dataclass(frozen=True, slots=True)
class RealRuns:
    """Runs scenarios without variants, one after another; their directories are kept."""

    rungs: Rungs
    directory: Path

    def judged(self, scenario: Scenario) -> JudgedRun:
        """Runs and judges a scenario. Raises `Interrupted` where the user ends it."""
        plan = make_plan(scenario)
        try:
            outcome = emulate(plan, self.rungs, self.directory, silent(), do_nothing)
            if outcome.interrupted:
                raise Interrupted
            if outcome.defect:
                return JudgedRun(defects=(Defect(BROKER_DEFECT, outcome.defect),))
            (found,) = analyze(outcome.directory, PlainEngine()).variants
        except UserError as error:
            return JudgedRun(refused=str(error))
        if found.fidelity == FidelityVerdict.INVALID:
            return JudgedRun(refused=UNFAITHFUL)
        (variant,) = read_manifest(outcome.directory).variants
        return JudgedRun(
            defects=tuple(defects_of(found.delivery, variant, plan.variants[0].scenario.timeline.drain)),
            records=tuple(logged(outcome.directory / LOGS)),
            begin=begin_of(variant),
        )
