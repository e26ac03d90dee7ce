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
from dataclasses import dataclass
from pathlib import Path

from msgspec import structs
from rich.console import Console

from emulation.host import provenance
from emulation.host.archives import pack_directory
from record.errors import UserError
from studies.cells.attempt import AnyAttempt, CellFailure, CellRequest, Keep
from studies.cells.cell import AnyCell
from studies.cells.execution import run_cell
from studies.cells.executors.interface import AttemptedCell, Executor
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


@dataclass(frozen=True, slots=True)
class ExecutorReply:
    """The answer of an executor that has run a cell."""

    attempt: AnyAttempt
    packed: bytes = b""
    """The packed run directory, if it is kept."""
    too_large: int = 0
    """The size in bytes of a packed run directory above the limit, which was removed with the executor's files."""


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
    job: Future[ExecutorReply | CellFailure], cell: AnyCell, store: AnyStore, print_line: Callable[[str], None]
) -> AnyAttempt | CellFailure:
    """The outcome of a job, after a run directory that is kept was moved into the store."""
    try:
        reply = job.result()
        if isinstance(reply, CellFailure):
            return reply
        if reply.packed:
            work = store.new_work(cell)
            (work / PACKED).write_bytes(reply.packed)
            store.keep_run(cell, reply.attempt, work)
            shutil.rmtree(work)
    except Exception as error:
        return CellFailure.of(error)
    if reply.too_large:
        print_line(
            f"{cell.key}: its run directory is not kept: {reply.too_large >> 20} MB when packed, and Spark "
            f"brings {LARGEST_RUN >> 20} MB at most; run the cell here to have it"
        )
    return reply.attempt


def run_on_executor(
    versions: tuple[tuple[str, str], ...], largest: int, request: CellRequest
) -> ExecutorReply | CellFailure:
    """Runs a cell in an executor's process.

    A user's mistake is a failure of the cell. Other errors fail the task, which Spark repeats, because the executor may
    be to blame.
    """
    refuse_other_versions(versions)
    with tempfile.TemporaryDirectory(prefix="cell-", dir=executor_directory()) as directory:
        runs, packed = Path(directory, RUNS), Path(directory, PACKED)
        try:
            attempt = run_cell(request, runs, Console(file=io.StringIO()))
        except UserError as error:
            return CellFailure.of(error)
        if attempt.run is None:
            return ExecutorReply(attempt)
        pack_directory(runs / attempt.run, packed)
        if (size := packed.stat().st_size) > largest:
            return ExecutorReply(structs.replace(attempt, run=None), too_large=size)
        return ExecutorReply(attempt, packed.read_bytes())
