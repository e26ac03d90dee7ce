"""Time dilations of a study's cells, where their scenarios leave them to rehearsals (`auto`).

Where cells run on the hosts of an inventory, each of them rehearses at the same time, as a cell of its own, and the one
that brings a figure closest to its limit counts: all cells get the same dilation, whichever host runs them.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from analysis.tables.summary import Summary
from emulation.host.loop_times import loop_times
from emulation.host.room import this_host
from emulation.planning.calibration import load_calibration
from emulation.planning.plan import VariantPlan
from emulation.run.directory import RunOutcome
from emulation.run.interrupt import Interrupted
from emulation.runtimes.ladder import AUTO, SIMULATED, Simulated, choose
from record.manifest import HostShare
from scenario.yaml_files.source import as_yaml
from studies.cells.attempt import Keep
from studies.cells.cell import Cell, CellResult
from studies.cells.executors.interface import ExecutorOptions
from studies.cells.scheduler import require_results
from studies.cells.store import CellStore
from studies.rehearsal import Rehearsing, host_share, rehearsed_scenario, rehearsing_here, sayer


class RehearsalResult(CellResult, frozen=True, kw_only=True):
    """The result of a rehearsal on a host."""

    found: HostShare | None
    """The part of the delays that is the host's; None where that is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsalCell(Cell[RehearsalResult]):
    """A rehearsal of one variant at one dilation."""

    study = "rehearsal"

    def read(self, outcome: RunOutcome, summary: Summary, runtime: str) -> RehearsalResult:
        (variant,) = summary.variants
        return RehearsalResult(
            fingerprint=self.fingerprint,
            runtime=runtime,
            delivery=summary.delivery,
            fidelity=summary.fidelity,
            found=host_share(variant),
        )


def rehearsing_for(options: ExecutorOptions, console: Console) -> Rehearsing | None:
    """Rehearsals on the hosts on which cells run; None where they are simulated, which need no dilation.

    Raises `UserError`s for a runtime that this host lacks, if cells run here.
    """
    if options.runtime == SIMULATED:
        return None
    if options.inventory is not None:
        return _on_hosts(options, console)
    rungs = choose(options.runtime, AUTO, sayer(console))
    return None if isinstance(rungs, Simulated) else rehearsing_here(rungs, console)


def _on_hosts(options: ExecutorOptions, console: Console) -> Rehearsing:
    """Rehearsals on all hosts of the inventory. The planner takes them to be like this host."""

    def rehearse(variant: VariantPlan, factor: float) -> HostShare | None:
        scenario = as_yaml(rehearsed_scenario(variant.scenario, factor).resolved())
        cells = [RehearsalCell(key=f"rehearsal-{number}", scenario=scenario) for number in range(options.in_parallel)]
        with tempfile.TemporaryDirectory(prefix="rehearsal-") as name:
            store = CellStore(Path(name), RehearsalResult)
            try:
                results = require_results(replace(options, retries=0, keep=Keep.NONE), store, cells, console)
            except KeyboardInterrupt:
                raise Interrupted from None
        shares = [result.found for result in results if result.found is not None]
        return max(shares, key=lambda share: share.strain) if len(shares) == len(results) else None

    return Rehearsing(load_calibration().on(loop_times()), this_host(), rehearse, sayer(console))
