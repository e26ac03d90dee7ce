"""Many simulations as Spark jobs of one task each, on the cores of this host or of a cluster.

A result is therefore available as soon as it exists, work that fails does not affect other work, and another executor
repeats what an executor that was lost had begun. Results must depend on the work alone: executors run the code of this
tree, and an executor is refused if a package that can change results has another version there.
"""

from __future__ import annotations

import functools
import importlib.metadata
import pickle
import re
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa

from analysis.engines.spark_cluster import TASK_FAILURES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Work = TypeVar("Work")

DECISIVE_PACKAGES = ("lark", "msgspec", "networkx", "numpy", "pyarrow", "pydantic", "PyYAML")
"""Packages of which another version might make another overlay or workload from the same seed, or write numbers
differently."""
_AHEAD = 2
"""Submitted jobs for each core, so that the next one is ready when a core becomes free."""
_MOST_SUBMITTED = 256
_TAG = "brokerlab-cell"
"""The tag of jobs, by which they are cancelled."""


class WrongExecutorError(Exception):
    """An executor that would not compute the same results; the message names the package that differs."""


@contextmanager
def open_executors(master: str, name: str) -> Iterator[SparkSession]:
    """A session that repeats failed tasks, also on a local master. Raises `HostError`."""
    from analysis.engines.spark_session import open_session  # noqa: PLC0415 - half a second, for Spark alone

    with open_session(with_retries(master), name=name) as session:
        yield session


def with_retries(master: str) -> str:
    """The master's URL with a number of retries, without which a local master repeats no task."""
    if found := re.fullmatch(r"local(?:\[(\*|\d+)\])?", master):
        return f"local[{found[1] or 1},{TASK_FAILURES}]"
    return master


def run_jobs(
    session: SparkSession, task: Callable[[Work], bytes], work: Sequence[Work]
) -> Generator[tuple[Work, Future[bytes]], None, None]:
    """Yields each piece of work with its job, as it is done. Keeps all executors busy, also those that join later.

    `task` runs on an executor, and must be picklable. Closing the generator cancels all jobs.
    """
    from analysis.engines.spark_frames import parallelism_of  # noqa: PLC0415 - half a second, for Spark alone

    waiting, submitted = deque(work), dict[Future[bytes], Work]()
    with ThreadPoolExecutor(_MOST_SUBMITTED, thread_name_prefix="cell") as pool:
        try:
            while waiting or submitted:
                room = min(_AHEAD * parallelism_of(session), _MOST_SUBMITTED) - len(submitted)
                for piece in [waiting.popleft() for _ in range(min(room, len(waiting)))]:
                    submitted[pool.submit(_run_task, session, task, piece)] = piece
                for done in wait(submitted, return_when=FIRST_COMPLETED).done:
                    yield submitted.pop(done), done
        finally:
            for future in submitted:
                future.cancel()
            with suppress(Exception):  # the Java process may have ended
                session.interruptTag(_TAG)


def _run_task(session: SparkSession, task: Callable[[Work], bytes], work: Work) -> bytes:
    """The reply of an executor to one piece of work, which is not unpickled, as it came over a network."""
    pickled = pickle.dumps((task, work))

    def run(rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in rows:
            task, work = pickle.loads(pickled)  # noqa: S301 - the driver's own
            yield pa.RecordBatch.from_pydict({"reply": [task(work)]})

    session.addTag(_TAG)
    [reply] = session.range(0, 1, 1, 1).mapInArrow(run, "reply binary").toArrow().column("reply")
    found: bytes = reply.as_py()
    return found


def decisive_versions() -> tuple[tuple[str, str], ...]:
    """The versions of this process that executors must have too."""
    return tuple((name, importlib.metadata.version(name)) for name in DECISIVE_PACKAGES)


@functools.cache
def refuse_other_versions(versions: tuple[tuple[str, str], ...]) -> None:
    """Raises `WrongExecutorError` unless these versions are installed."""
    for name, wanted in versions:
        try:
            found = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found = "none"
        if found != wanted:
            raise WrongExecutorError(f"has {name} {found} where the driver has {wanted}")


def executor_directory() -> str | None:
    """The directory of an executor's files, which Spark removes even if the executor was killed; None outside of
    one."""
    from pyspark import SparkFiles, TaskContext  # noqa: PLC0415

    return None if TaskContext.get() is None else str(SparkFiles.getRootDirectory())
