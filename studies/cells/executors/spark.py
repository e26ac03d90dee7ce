"""Runs simulated cells on the executors of Spark: the cores of this host, or those of a cluster.

Every cell is a Spark job of one task (`spark_jobs`), and its result depends on the cell alone. Executors need
not share files with the study: a run directory that is kept comes back packed, with the result.
"""

from __future__ import annotations

import functools
import io
import shutil
import tempfile
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future
from contextlib import closing
from pathlib import Path

from msgspec import structs
from rich.console import Console

from emulation.host import provenance
from emulation.host.archives import pack_directory
from record.errors import UserError
from studies.cells.attempt import AnyAttempt, AnyRequest, AttemptedCell, CellFailure, CellOutcome, CellRequest, Keep
from studies.cells.cell import AnyCell, CellResult
from studies.cells.execution import run_cell
from studies.cells.executors.interface import Executor
from studies.cells.executors.spark_jobs import (
    decisive_versions,
    executor_directory,
    open_executors,
    refuse_other_versions,
    run_jobs,
)
from studies.cells.store import PACKED, RUNS, AnyStore

LARGEST_RUN = 64 << 20
"""The limit in bytes of a packed run directory, because it passes through the memory of two Java processes."""


def spark_executor(master: str, store: AnyStore, keep: Keep, print_line: Callable[[str], None]) -> Executor:
    """Runs cells on the executors of a Spark master, as many at a time as these have cores.

    `print_line` gets a line for each run directory that should be kept and is too large.
    """

    def run(cells: Sequence[AnyCell]) -> Generator[AttemptedCell, None, None]:
        revision = provenance.git_revision()
        task = functools.partial(run_on_executor, decisive_versions(), LARGEST_RUN)
        requests = [CellRequest.simulated(cell, keep) for cell in cells]
        with open_executors(master, "brokerlab cells") as session, closing(run_jobs(session, task, requests)) as jobs:
            for request, job in jobs:
                outcome = _outcome(job, request.cell, store, print_line)
                if not isinstance(outcome, CellFailure):
                    outcome = structs.replace(outcome, git_revision=revision)  # executors have none
                yield AttemptedCell(request.cell, outcome)

    return run


def _outcome(
    job: Future[bytes], cell: AnyCell, store: AnyStore, print_line: Callable[[str], None]
) -> AnyAttempt | CellFailure:
    """The outcome of a job, after a run directory that is kept was moved into the store."""
    try:
        outcome = CellOutcome.decode(job.result(), store.result_type)
        if outcome.attempt is not None and outcome.packed:
            work = store.new_work(cell)
            (work / PACKED).write_bytes(outcome.packed)
            store.keep_run(cell, outcome.attempt, work)
            shutil.rmtree(work)
    except Exception as error:
        return CellFailure.of(error)
    if outcome.too_large:
        print_line(
            f"{cell.key}: its run directory is not kept: {outcome.too_large >> 20} MB when packed, and Spark "
            f"brings {LARGEST_RUN >> 20} MB at most; run the cell here to have it"
        )
    return outcome.told


def run_on_executor(versions: tuple[tuple[str, str], ...], largest: int, request: AnyRequest) -> bytes:
    """Runs a cell in an executor's process; returns its `CellOutcome`.

    A user's mistake is a failure of the cell. Other errors fail the task, which Spark repeats, because the executor may
    be to blame.
    """
    refuse_other_versions(versions)
    with tempfile.TemporaryDirectory(prefix="cell-", dir=executor_directory()) as directory:
        return _outcome_on_executor(request, Path(directory), largest).encode()


def _outcome_on_executor(request: AnyRequest, directory: Path, largest: int) -> CellOutcome[CellResult]:
    runs, packed = directory / RUNS, directory / PACKED
    try:
        attempt = run_cell(request, runs, Console(file=io.StringIO()))
    except UserError as error:
        return CellOutcome(failure=CellFailure.of(error))
    if attempt.run is None:
        return CellOutcome(attempt=attempt)
    pack_directory(runs / attempt.run, packed)
    if (size := packed.stat().st_size) > largest:
        return CellOutcome(attempt=structs.replace(attempt, run=None), too_large=size)
    return CellOutcome(attempt=attempt, packed=packed.read_bytes())
