"""The frames of the Spark engine: DataFrames, whose stages are `mapInArrow` and `groupBy(key).applyInArrow`.

Spark schedules the tasks, repeats those that failed, and moves and spills the rows. It works on a session of this
process and on one of Spark Connect alike. There is one task for each row of `mapped` and for each group, so that a
worker holds one of them at a time, and results are in their order.
"""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Protocol, TypeVar

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from analysis.engines.frames import Done, Grouping, Work, perform

POLL_SECONDS = 0.5
"""Seconds between two polls of the progress of a stage."""

Result = TypeVar("Result")


class SparkFrames:
    """Runs stages on the executors of a session."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._kept: list[DataFrame] = []

    @property
    def parallelism(self) -> int:
        return parallelism_of(self._session)

    def mapped(self, rows: pa.Table, work: Work, schema: pa.Schema) -> SparkFrame:
        """The rows travel with the stage: Spark would distribute a table of its own by size, and not one row a task."""
        shipped = pickle.dumps((rows, work, schema))

        def work_on(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            rows, work, schema = _unpickled(shipped)
            for batch in batches:
                for number in batch.column(0).to_pylist():
                    yield from perform(work, rows.slice(number, 1), schema).to_batches()

        numbers = self._session.range(0, rows.num_rows, 1, max(1, rows.num_rows))
        return SparkFrame(self, self._session, numbers.mapInArrow(work_on, from_arrow_schema(schema)), schema)

    def keep(self, rows: DataFrame) -> DataFrame:
        """The rows on the disks of executors, from their first use until `close`."""
        self._kept.append(rows.persist(StorageLevel.DISK_ONLY))
        return self._kept[-1]

    def close(self) -> None:
        """Removes what was kept."""
        while self._kept:
            self._kept.pop().unpersist()


class SparkFrame:
    """A DataFrame and its written schema, of which Spark does not keep every part."""

    def __init__(self, workers: SparkFrames, session: SparkSession, rows: DataFrame, schema: pa.Schema) -> None:
        self._workers = workers
        self._session = session
        self._rows = rows
        self._schema = schema

    def field(self, name: str) -> SparkFrame:
        element = self._schema.field(name).type.value_type
        schema = pa.schema([element.field(number) for number in range(element.num_fields)])
        return self._with(self._rows.selectExpr(f"inline({name})"), schema)

    def with_rows_of(self, other: SparkFrame) -> SparkFrame:
        return self._with(self._rows.unionAll(other._rows), self._schema)

    def grouped(self, grouping: Grouping, work: Work, schema: pa.Schema) -> SparkFrame:
        """Keys are the numbers of partitions, because hashed ones would put several groups into one."""
        shipped = pickle.dumps((self._schema, work, schema))

        def work_on(group: pa.Table) -> pa.Table:
            given, work, schema = _unpickled(shipped)
            return perform(work, group.cast(given), schema)

        divided = self._rows.repartitionById(grouping.groups, grouping.key).groupBy(grouping.key)
        return self._with(divided.applyInArrow(work_on, from_arrow_schema(schema)), schema)

    def kept(self) -> SparkFrame:
        return self._with(self._workers.keep(self._rows), self._schema)

    def collected(self, columns: Sequence[str], done: Done) -> Iterator[pa.Table]:
        schema = pa.schema([self._schema.field(name) for name in columns])
        table = _watched(self._session, self._rows.select(*columns).toArrow, done)
        for batch in table.to_batches():
            yield pa.Table.from_batches([batch]).cast(schema)

    def _with(self, rows: DataFrame, schema: pa.Schema) -> SparkFrame:
        return SparkFrame(self._workers, self._session, rows, schema)


def parallelism_of(session: SparkSession) -> int:
    """The number of tasks that executors run at a time."""
    if isinstance(session, SparkSession):
        return int(session.sparkContext.defaultParallelism)
    return _partitions_by_default(session)


@functools.lru_cache(maxsize=1)
def _partitions_by_default(session: SparkSession) -> int:
    """The number that Spark divides rows into by default, which is the parallelism that a server does not tell."""
    numbers = session.range(10_000).selectExpr("spark_partition_id() AS number")
    [largest] = numbers.selectExpr("max(number)").collect()
    return 1 + int(largest[0])


@functools.lru_cache(maxsize=1)
def _unpickled(shipped: bytes) -> tuple[pa.Table | pa.Schema, Work, pa.Schema]:
    """The stage and its tables, unpickled once in a worker and not for every task."""
    found: tuple[pa.Table | pa.Schema, Work, pa.Schema] = pickle.loads(shipped)  # noqa: S301 - the driver's own
    return found


def _watched(session: SparkSession, action: Callable[[], Result], done: Done) -> Result:
    """The result of an action, which is interrupted when waiting for it is."""
    with _progress(session) as tasks, ThreadPoolExecutor(1, thread_name_prefix="job") as pool:
        job = pool.submit(action)
        try:
            while not wait((job,), POLL_SECONDS).done:
                done(*tasks())
        except BaseException:
            session.interruptAll()
            raise
        return job.result()


class _Stage(Protocol):
    """A stage that Spark runs now, as a server of Spark Connect tells it."""

    num_tasks: int
    num_completed_tasks: int
    done: bool


@contextmanager
def _progress(session: SparkSession) -> Iterator[Callable[[], tuple[int, int]]]:
    """A function that returns the numbers of tasks done, and of all tasks, in the stage that runs now."""
    if isinstance(session, SparkSession):
        yield functools.partial(_tracked, session)
        return
    told: list[tuple[int, int]] = [(0, 1)]

    def hear(stages: Sequence[_Stage] | None, inflight_tasks: int, operation_id: str | None, done: bool) -> None:
        del inflight_tasks, operation_id, done
        running = [(stage.num_completed_tasks, stage.num_tasks) for stage in stages or () if not stage.done]
        told[0] = _largest(running)

    session.registerProgressHandler(hear)
    try:
        yield lambda: told[0]
    finally:
        session.removeProgressHandler(hear)


def _tracked(session: SparkSession) -> tuple[int, int]:
    tracker = session.sparkContext.statusTracker()
    running = [info for id in tracker.getActiveStageIds() if (info := tracker.getStageInfo(id)) is not None]
    return _largest([(info.numCompletedTasks, info.numTasks) for info in running])


def _largest(running: Sequence[tuple[int, int]]) -> tuple[int, int]:
    return max(running, key=lambda stage: stage[1], default=(0, 1))
