"""Runs and judges one cell on this host, and removes what is not to be kept."""

from __future__ import annotations

import contextlib
import resource
import shutil
import socket
import time
from datetime import UTC, datetime
from pathlib import Path

from msgspec import UNSET
from rich.console import Console

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from emulation.host import provenance
from emulation.planning.dilation import with_dilation
from emulation.run import RunOutcome, emulate
from emulation.runtimes.ladder import AUTO, Rungs, Simulated, choose
from emulation.upkeep.clean import clean
from record.callbacks import do_nothing
from studies.cells.attempt import AnyAttempt, AnyRequest, Attempt, was_disturbed
from studies.cells.cell import CellInterruptedError

_KIB = 1024
"""Unit of `ru_maxrss` on Linux, in bytes."""


def run_cell(request: AnyRequest, directory: Path, console: Console) -> AnyAttempt:
    """Runs a cell with its run directory below `directory`, which is removed unless the run is kept.

    Raises `UserError`s, and `CellInterruptedError` where the run was interrupted.
    """
    began, clock, worked = datetime.now(UTC), time.monotonic(), time.process_time()
    cell = request.cell
    try:
        rungs = choose(request.runtime, AUTO, lambda line: console.print(line, markup=False, soft_wrap=True))
        outcome = _run(request, rungs, directory, console)
        if outcome.interrupted:
            raise CellInterruptedError(cell.key)
        result = cell.read(outcome, analyze(outcome.directory, PlainEngine()), rungs.runtime.name)
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
        cpu_seconds=round(time.process_time() - worked, 3),
        memory_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _KIB / 1e6,
        result=result,
        busy=was_disturbed(outcome.fidelity),
        run=outcome.directory.name if kept else None,
        versions=provenance.versions(),
        git_revision=provenance.git_revision(),
        kernel=provenance.kernel(),
    )


def _run(request: AnyRequest, rungs: Rungs | Simulated, directory: Path, console: Console) -> RunOutcome:
    plan = request.cell.plan()
    if isinstance(rungs, Simulated):
        directory.mkdir(parents=True, exist_ok=True)
        return request.cell.simulate(plan, directory)
    if request.cell.dilation is not UNSET:
        plan = with_dilation(plan, request.cell.dilation)
    clean(None if rungs.docker is None else rungs.docker.client)
    return emulate(plan, rungs, directory, console, do_nothing)


def _remove_all(directory: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(directory)
