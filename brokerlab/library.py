"""The functions of the library: from a scenario's file to a run, its verdicts and its tables.

Names and meanings stay as they are from here on, as those of `brokerlab.protocol` do. A mistake of the user is raised
as a `record.errors.UserError`, whose text names the remedy. Nothing is printed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from rich.console import Console

from analysis.engines import PlainEngine
from analysis.pipeline import analyze as analyse_logs
from analysis.query import open_tables
from analysis.report import build_report
from analysis.tables.summary import Summary
from emulation.planning.plan import Plan
from emulation.planning.plan import make_plan as plan
from emulation.run import RunOutcome
from emulation.run import emulate as emulate_on
from emulation.runtimes.ladder import AUTO, Simulated, choose
from emulation.simulation.run import simulate as simulate_in
from record.callbacks import do_nothing
from record.errors import HostError
from scenario.loading import load as load_file
from scenario.model import Scenario
from scenario.shipped import file_of

__all__ = ["Analysis", "analyze", "emulate", "load", "plan", "simulate"]

RUNS = Path("runs")
"""The directory in which runs make directories of their own, unless the caller names another one."""


@dataclass(frozen=True, slots=True)
class Analysis:
    """An analysed run."""

    directory: Path
    """The run directory."""
    summary: Summary
    """Verdicts and figures of every variant, as in `summary.json`."""

    def query(self, sql: str) -> pa.Table:
        """The answer to one statement of SQL that reads the run's tables, such as `notifications` and `links`."""
        with open_tables([self.directory]) as tables:
            answer = tables.answer(sql)
            return pa.Table.from_batches(answer.batches, answer.schema)

    def report(self) -> Path:
        """Makes the run's page, which opens without a network, and returns its file."""
        return build_report(self.directory)


def load(scenario: str | Path, overrides: Mapping[str, str] | None = None) -> Scenario:
    """A checked scenario: of a YAML file, or of the name of a shipped one, such as `quickstart`.

    `overrides` replace fields of the file, as `--set` does: `{"timeline.run": "20s"}`.
    """
    return load_file(file_of(Path(scenario), "scenario"), overrides)


def simulate(plan: Plan, out: str | Path = RUNS) -> RunOutcome:
    """Runs a plan in virtual time; writes a run directory in `out`. A plan's run is the same each time."""
    return simulate_in(plan, Path(out))


def emulate(plan: Plan, out: str | Path = RUNS, *, runtime: str = AUTO, links: str = AUTO) -> RunOutcome:
    """Runs a plan with real brokers, in containers or as processes, as root; writes a run directory in `out`."""
    rungs = choose(runtime, links, do_nothing)
    if isinstance(rungs, Simulated):
        raise HostError(f"{rungs.runtime.reason}; `simulate` runs the plan in virtual time")
    return emulate_on(plan, rungs, Path(out), Console(quiet=True), do_nothing)


def analyze(run: RunOutcome | str | Path) -> Analysis:
    """Judges a run, as `simulate` and `emulate` return it or by its directory, from its logs; writes its tables."""
    directory = run.directory if isinstance(run, RunOutcome) else Path(run)
    return Analysis(directory, analyse_logs(directory, PlainEngine()))
