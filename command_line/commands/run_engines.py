"""Engines that analyse a run about to start: Spark, which starts in the background, or plain Python."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from analysis.engines import Engine, PlainEngine, RunningSpark
from analysis.engines.frames import Workers
from analysis.engines.java import check_java
from analysis.engines.plain import processes_within
from emulation.host.room import this_host
from record.errors import HostError
from record.extras import SPARK

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class RunEngine(Engine, Protocol):
    """An engine of analysis that a run prepares. Used as a context manager around both."""

    def check(self) -> None:
        """Raises `HostError` before the run where the engine could not work after it."""

    def begin(self) -> None:
        """Starts slow preparations in the background."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def spark_is_here() -> bool:
    """True where Spark and the Java that it needs are installed."""
    try:
        _require_spark()
    except HostError:
        return False
    return True


def plain_engine() -> NoPreparation:
    """Plain Python in as many processes as this host has room for."""
    return NoPreparation(processes_here())


def processes_here() -> int:
    """The number of processes of an analysis that this host has room for now."""
    host = this_host()
    return processes_within(host.processors, host.memory)


class NoPreparation(PlainEngine):
    """Plain Python: nothing to check and nothing to start."""

    def check(self) -> None:
        """Does nothing, because plain Python works on every host."""

    def begin(self) -> None:
        """Has nothing to begin."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None


class BackgroundSpark:
    """A Spark session that starts during or at the end of the run, which hides its start from the user.

    `begin` returns at once, `open` waits for the session (and starts one if necessary), leaving closes it.
    """

    name = "Spark"

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="spark")
        self._opened: AbstractContextManager[SparkSession] | None = None
        self._session: Future[SparkSession] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None and self._session.exception() is None and self._opened is not None:
            self._opened.__exit__(None, None, None)
        self._pool.shutdown()

    def check(self) -> None:
        try:
            _require_spark()
        except HostError as error:
            raise HostError(f"{error}; or leave Spark out with --no-spark") from error

    def begin(self) -> None:
        from analysis.engines.spark_session import open_session  # noqa: PLC0415 - half a second, for Spark alone

        if self._session is None:
            self._opened = open_session()
            self._session = self._pool.submit(self._opened.__enter__)

    @contextmanager
    def open(self) -> Iterator[Workers]:
        self.begin()
        assert self._session is not None
        with RunningSpark(self._session.result()).open() as workers:
            yield workers


def _require_spark() -> None:
    """Raises `HostError` where Spark cannot start."""
    SPARK.require()
    check_java()
