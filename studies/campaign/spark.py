"""Simulated cells on Spark's executors: this host's cores, or a cluster's.

Every cell is a Spark job of one task, so its result is written down as soon as it is there, a cell that fails fails
alone, and what an executor had under way when it was lost is run again by another. What a cell is and what comes of it
depends on the cell alone; executors run the code of this very tree and are refused where a package that has a say in
the result is there in another version. Executors need not share files with the campaign: a run directory that is to
stay comes back packed, with the result.
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
from studies.campaign.attempt import Attempt, Attempted, Keep, Order, RunCells
from studies.campaign.cell import Cell
from studies.campaign.directory import PACKED, RUNS, CampaignDirectory
from studies.campaign.trial import try_cell

if TYPE_CHECKING:
    from pyspark import SparkContext

DECISIVE_PACKAGES = ("lark", "msgspec", "networkx", "numpy", "pyarrow", "pydantic", "PyYAML")
"""Another version of these might make another overlay or workload of the same seed, or write numbers differently."""
_AHEAD = 2
"""Jobs for each core: the next one waits where a core becomes free."""
_MOST_UNDER_WAY = 256
LARGEST_RUN = 64 << 20
"""Bytes of a packed run directory: it passes through the memory of the executor's and of the driver's Java."""


class WrongExecutorError(Exception):
    """An executor that would not compute the same; the message says what it has."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A cell that cannot be run, and why, for the user."""

    message: str
    exit_code: int


@dataclass(frozen=True, slots=True)
class Told:
    """What an executor says of a cell that was run."""

    attempt: bytes
    """An `Attempt`, encoded."""
    packed: bytes = b""
    """Its run directory, if it is to stay."""
    too_large: int = 0
    """Bytes that this has, where it is more than can be brought; it ended with the executor then."""


def spark_cells(master: str, directory: CampaignDirectory, keep: Keep, say: Callable[[str], None]) -> RunCells:
    """Runs cells on the executors of a Spark master, as many at a time as these have cores.

    `say` is told of run directories that should stay and are too large for that.
    """

    def run(cells: Sequence[Cell]) -> Generator[Attempted, None, None]:
        from analysis.engines.spark_session import open_session  # noqa: PLC0415 - half a second, for Spark alone

        with open_session(_with_retries(master), name="brokerlab campaign") as session:
            versions = {name: importlib.metadata.version(name) for name in DECISIVE_PACKAGES}
            run_one = _OneCell(session.sparkContext, versions, directory, keep, say)
            yield from _tries(session.sparkContext, run_one, cells)

    return run


def _with_retries(master: str) -> str:
    """A local master repeats no task unless it is told so in its name."""
    if found := re.fullmatch(r"local(?:\[(\*|\d+)\])?", master):
        return f"local[{found[1] or 1},{TASK_FAILURES}]"
    return master


def _tries(context: SparkContext, run_one: _OneCell, cells: Sequence[Cell]) -> Generator[Attempted, None, None]:
    """Keeps executors busy: those that have joined meanwhile too."""
    waiting, under_way = deque(cells), dict[Future[Attempt], Cell]()
    revision = provenance.git_revision()
    with ThreadPoolExecutor(_MOST_UNDER_WAY, thread_name_prefix="cell") as pool:
        try:
            while waiting or under_way:
                room = min(_AHEAD * context.defaultParallelism, _MOST_UNDER_WAY) - len(under_way)
                for cell in [waiting.popleft() for _ in range(min(room, len(waiting)))]:
                    under_way[pool.submit(run_one, cell)] = cell
                for done in wait(under_way, return_when=FIRST_COMPLETED).done:
                    attempt = structs.replace(done.result(), git_revision=revision)
                    yield Attempted(under_way.pop(done), attempt)
        finally:
            for future in under_way:
                future.cancel()
            with suppress(Exception):  # Java may be what has ended
                context.cancelAllJobs()


@dataclass(frozen=True, slots=True)
class _OneCell:
    """A cell as a job. Called from several threads at a time."""

    context: SparkContext
    versions: Mapping[str, str]
    directory: CampaignDirectory
    keep: Keep
    say: Callable[[str], None]

    def __call__(self, cell: Cell) -> Attempt:
        self.context.setJobDescription(f"cell {cell.key}")
        order = Order(campaign="", command="", cell=cell, runtime=SIMULATED, keep=self.keep)
        task = functools.partial(_try, tuple(self.versions.items()), LARGEST_RUN)
        [told] = self.context.parallelize([order], 1).map(task).collect()
        if isinstance(told, Failure):
            kind = HostError if told.exit_code == ExitCode.HOST else BadInputError
            raise kind(f"cell {cell.key}: {told.message}")
        return self._kept(cell, told)

    def _kept(self, cell: Cell, told: Told) -> Attempt:
        """The attempt, with its run directory in the campaign's."""
        attempt = msgspec.json.decode(told.attempt, type=Attempt)
        if told.too_large:
            self.say(
                f"{cell.key}: its run directory is not kept: {told.too_large >> 20} MB when packed, and Spark brings "
                f"{LARGEST_RUN >> 20} MB at most; run the cell here to have it"
            )
        if told.packed:
            work = self.directory.new_work(cell)
            (work / PACKED).write_bytes(told.packed)
            self.directory.keep_run(cell, attempt, work)
            shutil.rmtree(work)
        return attempt


def _try(versions: tuple[tuple[str, str], ...], largest: int, order: Order) -> Told | Failure:
    """In an executor."""
    _refuse_other(versions)
    with tempfile.TemporaryDirectory(prefix="brokerlab-cell-", dir=_place()) as directory:
        runs, packed = Path(directory, RUNS), Path(directory, PACKED)
        try:
            attempt = try_cell(order, runs, Console(file=io.StringIO()))
        except UserError as error:
            return Failure(str(error), error.exit_code)
        if attempt.run is None:
            return Told(msgspec.json.encode(attempt))
        pack_directory(runs / attempt.run, packed)
        if (size := packed.stat().st_size) > largest:
            return Told(msgspec.json.encode(structs.replace(attempt, run=None)), too_large=size)
        return Told(msgspec.json.encode(attempt), packed.read_bytes())


def _place() -> str | None:
    """Where an executor keeps its files: Spark removes them, also those of a process that was killed."""
    from pyspark import SparkFiles, TaskContext  # noqa: PLC0415

    return None if TaskContext.get() is None else str(SparkFiles.getRootDirectory())


@functools.cache
def _refuse_other(versions: tuple[tuple[str, str], ...]) -> None:
    """Raises `WrongExecutorError` unless these versions are here."""
    for name, wanted in versions:
        try:
            found = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found = "none"
        if found != wanted:
            raise WrongExecutorError(f"has {name} {found} where the driver has {wanted}")
