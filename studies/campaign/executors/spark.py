"""Runs simulated cells on the executors of Spark: the cores of this host, or those of a cluster.

Every cell is a Spark job of one task. Its result is therefore recorded as soon as it exists, a cell that fails does not
affect others, and another executor repeats the cells of an executor that was lost. A result depends on the cell alone:
executors run the code of this tree, and an executor is refused if a package that can change results has another version
there. Executors need not share files with the campaign: a run directory that is kept comes back packed, with the
result.
"""

from __future__ import annotations

import functools
import importlib.metadata
import io
import re
import shutil
import tempfile
from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import structs
from rich.console import Console

from analysis.engines.spark_cluster import TASK_FAILURES
from emulation.host import provenance
from emulation.host.archives import pack_directory
from emulation.runtimes.ladder import SIMULATED
from record.errors import BadInputError, HostError, UserError
from record.exit_codes import ExitCode
from studies.campaign.attempt import Attempt, CellRequest, Keep
from studies.campaign.cell import Cell
from studies.campaign.directory import PACKED, RUNS, CampaignDirectory
from studies.campaign.execution import run_cell
from studies.campaign.executors.interface import AttemptedCell, Executor

if TYPE_CHECKING:
    from pyspark import SparkContext

DECISIVE_PACKAGES = ("lark", "msgspec", "networkx", "numpy", "pyarrow", "pydantic", "PyYAML")
"""Packages of which another version might make another overlay or workload from the same seed, or write numbers
differently."""
_AHEAD = 2
"""Submitted jobs for each core, so that the next one is ready when a core becomes free."""
_MOST_SUBMITTED = 256
LARGEST_RUN = 64 << 20
"""The limit in bytes of a packed run directory, because it passes through the memory of two Java processes."""


class WrongExecutorError(Exception):
    """An executor that would not compute the same results; the message names the package that differs."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A cell that cannot be run; the message is the reason, as the user reads it."""

    message: str
    exit_code: int


@dataclass(frozen=True, slots=True)
class ExecutorReply:
    """The answer of an executor that has run a cell."""

    attempt: bytes
    """An encoded `Attempt`."""
    packed: bytes = b""
    """The packed run directory, if it is kept."""
    too_large: int = 0
    """The size in bytes of a packed run directory above the limit, which was removed with the executor's files."""


def spark_executor(
    master: str, directory: CampaignDirectory, keep: Keep, print_line: Callable[[str], None]
) -> Executor:
    """Runs cells on the executors of a Spark master, as many at a time as these have cores.

    `print_line` gets a line for each run directory that should be kept and is too large.
    """

    def run(cells: Sequence[Cell]) -> Generator[AttemptedCell, None, None]:
        from analysis.engines.spark_context import open_context  # noqa: PLC0415 - half a second, for Spark alone

        with open_context(_with_retries(master), name="brokerlab campaign") as context:
            versions = {name: importlib.metadata.version(name) for name in DECISIVE_PACKAGES}
            run_job = _CellJob(context, versions, directory, keep, print_line)
            yield from _attempts(context, run_job, cells)

    return run


def _with_retries(master: str) -> str:
    """The master's URL with a number of retries, without which a local master repeats no task."""
    if found := re.fullmatch(r"local(?:\[(\*|\d+)\])?", master):
        return f"local[{found[1] or 1},{TASK_FAILURES}]"
    return master


def _attempts(context: SparkContext, run_job: _CellJob, cells: Sequence[Cell]) -> Generator[AttemptedCell, None, None]:
    """Keeps all executors busy, also those that join later."""
    waiting, submitted = deque(cells), dict[Future[Attempt], Cell]()
    revision = provenance.git_revision()
    with ThreadPoolExecutor(_MOST_SUBMITTED, thread_name_prefix="cell") as pool:
        try:
            while waiting or submitted:
                room = min(_AHEAD * context.defaultParallelism, _MOST_SUBMITTED) - len(submitted)
                for cell in [waiting.popleft() for _ in range(min(room, len(waiting)))]:
                    submitted[pool.submit(run_job, cell)] = cell
                for done in wait(submitted, return_when=FIRST_COMPLETED).done:
                    attempt = structs.replace(done.result(), git_revision=revision)
                    yield AttemptedCell(submitted.pop(done), attempt)
        finally:
            for future in submitted:
                future.cancel()
            with suppress(Exception):  # the Java process may have ended
                context.cancelAllJobs()


@dataclass(frozen=True, slots=True)
class _CellJob:
    """Runs a cell as a Spark job. Called from several threads at a time."""

    context: SparkContext
    versions: Mapping[str, str]
    directory: CampaignDirectory
    keep: Keep
    print_line: Callable[[str], None]

    def __call__(self, cell: Cell) -> Attempt:
        self.context.setJobDescription(f"cell {cell.key}")
        request = CellRequest(campaign="", command="", cell=cell, runtime=SIMULATED, keep=self.keep)
        task = functools.partial(_run_on_executor, tuple(self.versions.items()), LARGEST_RUN)
        [answer] = self.context.parallelize([request], 1).map(task).collect()
        if isinstance(answer, Failure):
            kind = HostError if answer.exit_code == ExitCode.HOST else BadInputError
            raise kind(f"cell {cell.key}: {answer.message}")
        return self._kept(cell, answer)

    def _kept(self, cell: Cell, outcome: ExecutorReply) -> Attempt:
        """The attempt, after its run directory was moved into the campaign's."""
        attempt = msgspec.json.decode(outcome.attempt, type=Attempt)
        if outcome.too_large:
            self.print_line(
                f"{cell.key}: its run directory is not kept: {outcome.too_large >> 20} MB when packed, and Spark "
                f"brings {LARGEST_RUN >> 20} MB at most; run the cell here to have it"
            )
        if outcome.packed:
            work = self.directory.new_work(cell)
            (work / PACKED).write_bytes(outcome.packed)
            self.directory.keep_run(cell, attempt, work)
            shutil.rmtree(work)
        return attempt


def _run_on_executor(
    versions: tuple[tuple[str, str], ...], largest: int, request: CellRequest
) -> ExecutorReply | Failure:
    """Runs a cell in an executor's process."""
    _refuse_other(versions)
    with tempfile.TemporaryDirectory(prefix="brokerlab-cell-", dir=_executor_directory()) as directory:
        runs, packed = Path(directory, RUNS), Path(directory, PACKED)
        try:
            attempt = run_cell(request, runs, Console(file=io.StringIO()))
        except UserError as error:
            return Failure(str(error), error.exit_code)
        if attempt.run is None:
            return ExecutorReply(msgspec.json.encode(attempt))
        pack_directory(runs / attempt.run, packed)
        if (size := packed.stat().st_size) > largest:
            return ExecutorReply(msgspec.json.encode(structs.replace(attempt, run=None)), too_large=size)
        return ExecutorReply(msgspec.json.encode(attempt), packed.read_bytes())


def _executor_directory() -> str | None:
    """The directory of an executor's files, which Spark removes even if the executor was killed; None outside of
    one."""
    from pyspark import SparkFiles, TaskContext  # noqa: PLC0415

    return None if TaskContext.get() is None else str(SparkFiles.getRootDirectory())


@functools.cache
def _refuse_other(versions: tuple[tuple[str, str], ...]) -> None:
    """Raises `WrongExecutorError` unless these versions are installed."""
    for name, wanted in versions:
        try:
            found = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found = "none"
        if found != wanted:
            raise WrongExecutorError(f"has {name} {found} where the driver has {wanted}")
