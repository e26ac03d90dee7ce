"""One cell of a campaign: a scenario with chosen values, one fault schedule and one seed, run and judged."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.tables.audited import with_audit
from emulation.planning.plan import Plan, make_plan
from emulation.run.directory import RunOutcome
from emulation.runtimes.ladder import SIMULATED
from emulation.simulation.run import simulate
from record.files import replace_file
from scenario.loading import load_text
from scenario.yaml_files.source import as_yaml, parse
from studies.campaign.result import CellResult, variant_result


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell with everything that is needed to run it on any host. It can be pickled."""

    key: str
    """The cell's name within the campaign: letters, digits and `_.+-`."""
    factors: tuple[tuple[str, str], ...]
    """Dotted paths and their values, as JSON."""
    schedule: str
    """The name of the fault schedule."""
    seed: int
    scenario: str
    """The whole resolved scenario, with seed and faults, as YAML in the form of JSON."""

    @property
    def fingerprint(self) -> str:
        """Hash of the scenario: the same for cells that run the same."""
        return hashlib.sha256(self.scenario.encode()).hexdigest()[:16]

    @property
    def settings(self) -> dict[str, Any]:
        """The factors' values by dotted path."""
        return {path: json.loads(value) for path, value in self.factors}

    def plan(self) -> Plan:
        """The plan of a run of this cell. Raises `UserError`s."""
        return make_plan(load_text(self.scenario, self.key))

    def write_scenario(self, directory: Path) -> Path:
        """Makes `directory/scenario.yaml`, which `brokerlab emulate` runs too."""
        directory.mkdir(parents=True, exist_ok=True)
        file = directory / "scenario.yaml"
        replace_file(file, as_yaml(parse(self.scenario, self.key).data, indent=2).encode() + b"\n")
        return file


class CellInterruptedError(Exception):
    """The run was interrupted before its end, so there is nothing to judge."""


def run_simulated(cell: Cell, directory: Path) -> CellResult:
    """Runs a cell in virtual time with its run directory below `directory`, which the caller removes or keeps.

    The same cell has the same result wherever it runs. Raises `UserError`s.
    """
    return judge_cell(cell, simulate(cell.plan(), directory), SIMULATED)


def judge_cell(cell: Cell, outcome: RunOutcome, runtime: str) -> CellResult:
    """Analyses a run of the cell. Raises `UserError`s, and `CellInterruptedError` where the run was interrupted."""
    if outcome.interrupted:
        raise CellInterruptedError(cell.key)
    summary = analyze(outcome.directory, PlainEngine())
    judged = with_audit(outcome.fidelity, summary)
    reasons = {} if judged is None else {variant.name: variant.reasons for variant in judged.variants}
    return CellResult(
        key=cell.key,
        factors=cell.settings,
        schedule=cell.schedule,
        seed=cell.seed,
        fingerprint=cell.fingerprint,
        runtime=runtime,
        delivery=summary.delivery,
        fidelity=summary.fidelity,
        variants=[variant_result(variant, reasons.get(variant.name, [])) for variant in summary.variants],
    )
