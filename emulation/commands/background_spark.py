"""A Spark session that starts while the run's own processes are being stopped: its five seconds cost the user less."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Self

from pyspark.sql import SparkSession

from analysis.session import open_session


class BackgroundSpark:
    """`begin` returns at once, `session` waits for the session (and begins if nobody has), leaving closes it."""

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

    def begin(self) -> None:
        """Starts the session in the background, once."""
        if self._session is None:
            self._opened = open_session()
            self._session = self._pool.submit(self._opened.__enter__)

    def session(self) -> SparkSession:
        """The session. Raises `AnalysisHostError` when it did not start."""
        self.begin()
        assert self._session is not None
        return self._session.result()
