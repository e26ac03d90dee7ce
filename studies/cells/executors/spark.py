"""Runs simulated cells on the executors of Spark: the cores of this host, or those of a cluster.

Every cell is a Spark job of one task (`studies.spark_jobs`), and its result depends on the cell alone. Executors need
not share files with the study: a run directory that is kept comes back packed, with the result.
"""

from __future__ import annotations

import functools
import io
import shutil
import tempfile
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import structs
from rich.console import Console

from emulation.host import provenance
from emulation.host.archives import pack_directory
from emulation.runtimes.ladder import SIMULATED
from record.errors import UserError
from studies.cells.attempt import AnyAttempt, CellFailure, CellRequest, Keep
from studies.cells.cell import AnyCell
from studies.cells.execution import run_cell
from studies.cells.executors.interface import AttemptedCell, Executor
from studies.cells.store import PACKED, RUNS, AnyStore
from studies.spark_jobs import (
    decisive_versions,
    executor_directory,
    open_executors,
    refuse_other_versions,
    run_jobs,
    run_task,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LARGEST_RUN = 64 << 20
"""The limit in bytes of a packed run directory, because it passes through the memory of two Java processes."""


@dataclass(frozen=True, slots=True)
class ExecutorReply:
    """The answer of an executor that has run a cell."""

    attempt: bytes
    """An encoded `Attempt`."""
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
        with open_executors(master, "brokerlab cells") as session:
            run_job = _CellJob(session, decisive_versions(), store, keep, print_line)
            with closing(run_jobs(session, run_job, cells)) as attempts:
                for cell, attempt in attempts:
                    known = {} if isinstance(attempt, CellFailure) else {"git_revision": revision}
                    yield AttemptedCell(cell, structs.replace(attempt, **known))

    return run


@dataclass(frozen=True, slots=True)
class _CellJob:
    """Runs a cell as a Spark job. Called from several threads at a time."""

    session: SparkSession
    versions: tuple[tuple[str, str], ...]
    store: AnyStore
    keep: Keep
    print_line: Callable[[str], None]

    def __call__(self, cell: AnyCell) -> AnyAttempt | CellFailure:
        request = CellRequest(study="", command="", cell=cell, runtime=SIMULATED, keep=self.keep)
        task = functools.partial(_run_on_executor, self.versions, LARGEST_RUN)
        try:
            answer = run_task(self.session, task, request)
            return answer if isinstance(answer, CellFailure) else self._kept(cell, answer)
        except Exception as error:
            return CellFailure.of(error)

    def _kept(self, cell: AnyCell, outcome: ExecutorReply) -> AnyAttempt:
        """The attempt, after its run directory was moved into the store."""
        attempt = self.store.decode_attempt(outcome.attempt)
        if outcome.too_large:
            self.print_line(
                f"{cell.key}: its run directory is not kept: {outcome.too_large >> 20} MB when packed, and Spark "
                f"brings {LARGEST_RUN >> 20} MB at most; run the cell here to have it"
            )
        if outcome.packed:
            work = self.store.new_work(cell)
            (work / PACKED).write_bytes(outcome.packed)
            self.store.keep_run(cell, attempt, work)
            shutil.rmtree(work)
        return attempt


def _run_on_executor(
    versions: tuple[tuple[str, str], ...], largest: int, request: CellRequest
) -> ExecutorReply | CellFailure:
    """Runs a cell in an executor's process.

    A user's mistake is a failure of the cell. Other errors fail the task, which Spark repeats, because the executor may
    be to blame.
    """
    refuse_other_versions(versions)
    with tempfile.TemporaryDirectory(prefix="brokerlab-cell-", dir=executor_directory()) as directory:
        runs, packed = Path(directory, RUNS), Path(directory, PACKED)
        try:
            attempt = run_cell(request, runs, Console(file=io.StringIO()))
        except UserError as error:
            return CellFailure.of(error)
        if attempt.run is None:
            return ExecutorReply(msgspec.json.encode(attempt))
        pack_directory(runs / attempt.run, packed)
        if (size := packed.stat().st_size) > largest:
            return ExecutorReply(msgspec.json.encode(structs.replace(attempt, run=None)), too_large=size)
        return ExecutorReply(msgspec.json.encode(attempt), packed.read_bytes())
