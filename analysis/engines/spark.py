"""The Spark engine: stages are tasks in Python workers, buckets are partitions of Spark's own shuffle.

Spark schedules the tasks, repeats those that failed, and moves and spills the bytes; it never looks into them (the
decision, with its numbers, is in docs/analysis.md). So no plan is generated and compiled, and the driver holds tallies
only. A worker opens log files itself, so a cluster must share the run directory (as it must to write results). The
tallies of a stage travel in one partition of its shuffle, beside the buckets: requesting them runs the stage, and the
output of the shuffle is still there for the next.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from analysis.engines.interface import Done, Exchange, Input, Output, ShuffleBucket, Stage, Tally, Workers, perform

if TYPE_CHECKING:
    from pyspark import RDD, SparkContext

POLL_SECONDS = 0.5
"""Seconds between two polls of the progress of a stage."""

_Next = TypeVar("_Next")


@dataclass(frozen=True, slots=True)
class SparkEngine:
    """Starts Spark for one analysis, and stops it afterwards."""

    master: str | None = None
    """None for this host's processors."""
    name: str = "Spark"

    @contextmanager
    def open(self) -> Iterator[Workers]:
        from analysis.engines.spark_context import LOCAL_MASTER, open_context  # noqa: PLC0415 - half a second, for Spark alone

        with open_context(self.master or LOCAL_MASTER) as context:
            yield _SparkWorkers(context)


@dataclass(frozen=True, slots=True)
class RunningSpark:
    """Uses a context that the caller opened and will close."""

    context: SparkContext
    name: str = "Spark"

    @contextmanager
    def open(self) -> Iterator[Workers]:
        from analysis.engines.spark_cluster import executor_errors_explained  # noqa: PLC0415 - half a second, for Spark alone

        with executor_errors_explained(str(self.context.master)):
            yield _SparkWorkers(self.context)


class _SparkWorkers:
    def __init__(self, context: SparkContext) -> None:
        self._context = context

    @property
    def parallelism(self) -> int:
        return int(self._context.defaultParallelism)

    def run(self, inputs: Sequence[Input], stage: Stage[Input, Tally], buckets: int) -> Exchange[Tally]:
        shared = self._context.broadcast(stage)

        def work(shares: Iterable[Input]) -> Iterator[tuple[int, Any]]:
            for share in shares:
                yield from _numbered(perform(shared.value, share), buckets)

        return _SparkExchange(self._context.parallelize(inputs, max(1, len(inputs))).mapPartitions(work), buckets)


class _SparkExchange(Generic[Tally]):
    def __init__(self, outputs: RDD[tuple[int, Any]], buckets: int) -> None:
        self._buckets = buckets
        self._shuffled = outputs.partitionBy(buckets + 1, _identity)

    def tallies(self, done: Done) -> Iterator[Tally]:
        context = self._shuffled.context
        with ThreadPoolExecutor(1, thread_name_prefix="job") as pool:
            job = pool.submit(context.runJob, self._shuffled, _values, [self._buckets])
            try:
                while not wait((job,), POLL_SECONDS).done:
                    done(*_tasks(context))
            except BaseException:
                context.cancelAllJobs()
                raise
            return iter(job.result())

    def then(self, stage: Stage[ShuffleBucket, _Next], buckets: int) -> Exchange[_Next]:
        shared = self._shuffled.context.broadcast(stage)
        side = self._buckets

        def work(number: int, pairs: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, Any]]:
            parts = (part for _, part in pairs)
            first = next(parts, None)
            if number != side and first is not None:
                yield from _numbered(perform(shared.value, ShuffleBucket(number, chain((first,), parts))), buckets)
            deque(parts, maxlen=0)  # Spark ends a worker that has not read all of its input

        return _SparkExchange(self._shuffled.mapPartitionsWithIndex(work), buckets)


def _tasks(context: SparkContext) -> tuple[int, int]:
    """The number of tasks done, and of all tasks, in the stage that runs now."""
    tracker = context.statusTracker()
    running = [info for id in tracker.getActiveStageIds() if (info := tracker.getStageInfo(id)) is not None]
    most = max(running, key=lambda info: info.numTasks, default=None)
    return (0, 1) if most is None else (most.numCompletedTasks, most.numTasks)


def _numbered(output: Output[Any], buckets: int) -> Iterator[tuple[int, Any]]:
    yield from output.parts.items()
    yield buckets, output.tally


def _identity(number: int) -> int:
    return number


def _values(pairs: Iterable[tuple[int, Any]]) -> Iterable[Any]:
    return (value for _, value in pairs)
