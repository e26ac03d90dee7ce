"""Runs and judges one cell on this host, and removes what is not to be kept."""

from __future__ import annotations

import contextlib
import shutil
import socket
import time
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from emulation.host import provenance
from emulation.planning.plan import Plan
from emulation.run import RunOutcome, emulate
from emulation.runtimes.ladder import AUTO, Rungs, Simulated, choose
from emulation.simulation.run import simulate
from emulation.upkeep.clean import clean
from record.callbacks import do_nothing
from studies.campaign.attempt import Attempt, CellRequest, host_was_busy
from studies.campaign.cell import judge_cell


def run_cell(request: CellRequest, directory: Path, console: Console) -> Attempt:
    """Runs a cell with its run directory below `directory`, which is removed unless the run is kept.

    Raises `UserError`s, `CellInterruptedError`.
    """
    began, clock = datetime.now(UTC), time.monotonic()
    cell = request.cell
    try:
        rungs = choose(request.runtime, AUTO, lambda line: console.print(line, markup=False, soft_wrap=True))
        outcome = _run(cell.plan(), rungs, directory, console)
        result = judge_cell(cell, outcome, rungs.runtime.name)
        kept = request.keep.keeps(result)
    except BaseException:
        _remove_all(directory)
        raise
    if not kept:
        _remove_all(directory)
    return Attempt(
        host=socket.gethostname(),
        began=began.isoformat(timespec="seconds"),
        seconds=round(time.monotonic() - clock, 3),
        result=result,
        busy=host_was_busy(outcome.fidelity),
        run=outcome.directory.name if kept else None,
        versions=provenance.versions(),
        git_revision=provenance.git_revision(),
        kernel=provenance.kernel(),
    )


def _run(plan: Plan, rungs: Rungs | Simulated, directory: Path, console: Console) -> RunOutcome:
    if isinstance(rungs, Simulated):
        return simulate(plan, directory)
    clean(None if rungs.docker is None else rungs.docker.client)
    return emulate(plan, rungs, directory, console, do_nothing)


def _remove_all(directory: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(directory)
