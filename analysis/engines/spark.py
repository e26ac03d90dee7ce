"""The Spark engine: a session that it opens, or one that runs already."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from analysis.engines.frames import Workers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class SparkEngine:
    """Starts Spark for one analysis, and stops it afterwards."""

    master: str | None = None
    """URL of Spark's master; None for this host's processors."""
    name: str = "Spark"

    @contextmanager
    def open(self) -> Iterator[Workers]:
        from analysis.engines.spark_session import LOCAL_MASTER, open_session  # noqa: PLC0415 - half a second, for Spark alone

        with open_session(self.master or LOCAL_MASTER) as session, _workers(session) as workers:
            yield workers


@dataclass(frozen=True, slots=True)
class RunningSpark:
    """Uses a session that the caller opened and will close."""

    session: SparkSession
    name: str = "Spark"

    @contextmanager
    def open(self) -> Iterator[Workers]:
        from analysis.engines.spark_cluster import executor_errors_explained  # noqa: PLC0415 - half a second, for Spark alone

        with executor_errors_explained(str(self.session.conf.get("spark.master"))), _workers(self.session) as workers:
            yield workers


@contextmanager
def _workers(session: SparkSession) -> Iterator[Workers]:
    from analysis.engines.spark_frames import SparkFrames  # noqa: PLC0415 - half a second, for Spark alone

    with closing(SparkFrames(session)) as frames:
        yield frames
