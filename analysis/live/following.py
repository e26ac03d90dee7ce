"""Following a run in progress: Spark's Structured Streaming over its growing logs, and the analysis when it has ended.

What a follower knows is kept in `.following/` of the run directory until the final analysis is done, so that one who
was stopped goes on where he was.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from analysis.engines import RunningSpark
from analysis.engines.spark_session import LOCAL_MASTER, open_session
from analysis.live.batches import Batches
from analysis.live.summary import LIVE_SUMMARY, LiveSummary
from analysis.pipeline import analyze
from analysis.pipeline.progress import Progress
from analysis.pipeline.run import exclusive
from analysis.run_files.logs import Piece
from analysis.run_files.run_directory import open_run
from analysis.tables.summary import Summary, read_summary
from record.errors import HostError, RunDirectoryError
from record.files import FIDELITY, LOGS, SUMMARY

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

DIRECTORY = ".following"
BATCH_SECONDS = 2.0
"""From the beginning of one update to that of the next, where one does not take longer."""
BATCH_BYTES = 32 << 20
"""Of logs that one update takes at most, for each processor."""
LOOK_SECONDS = 0.5
BEGIN_SECONDS = 60.0
"""How long a run may take from its directory to its manifest and first variant."""
TRIES = 10
_LATE = "failed to connect back"
"""What Spark says of a worker that took more than ten seconds to start."""

Show = Callable[[LiveSummary], None]


@dataclass(frozen=True, slots=True)
class Follower:
    """Follows one run."""

    run: Path
    master: str = LOCAL_MASTER
    batch_seconds: float = BATCH_SECONDS

    def follow(self, show: Show, tell: Progress) -> Summary:
        """Shows the summary so far until the run has ended, and returns the final one.

        Raises `UserError` for what the user can mend. An interrupt leaves what is known, to be taken up again.
        """
        _await_beginning(self.run, tell)
        tell("starting Spark")
        with open_session(self.master) as session:
            self._watch(session, show, tell)
            tell("the run has ended; analysing all of it")
            summary = _final(self.run, session, tell)
        shutil.rmtree(self.run / DIRECTORY, ignore_errors=True)
        (self.run / LIVE_SUMMARY).unlink(missing_ok=True)
        return summary

    def _watch(self, session: SparkSession, show: Show, tell: Progress) -> None:
        """Until the run has ended. Where Spark fails because this host is busy, the stream is begun again."""
        failed = 0
        while not ended(self.run):
            with streaming(session, self.run, self.batch_seconds) as (query, batches):
                error = _watch(query, batches, self.run, show)
            if error is not None:
                failed += 1
                if _LATE not in str(error) or failed == TRIES:
                    raise HostError(f"following {self.run} failed: {error}") from error
                tell("this host is so busy that a worker of Spark's did not start in time; trying again")


def ended(run: Path) -> bool:
    """Whether nothing is added to the logs any more: the verdict on fidelity comes last."""
    return (run / FIDELITY).exists()


@contextmanager
def streaming(session: SparkSession, run: Path, seconds: float) -> Iterator[tuple[StreamingQuery, Batches]]:
    """A query that takes what is new in the logs again and again, from where an earlier one was."""
    from analysis.live.source import FORMAT, MOST_BYTES, PATH, GrowingLogs  # noqa: PLC0415 - loads Spark's SQL

    directory = (run / DIRECTORY).resolve()
    directory.mkdir(exist_ok=True)
    with RunningSpark(session).open() as workers:
        batches = Batches(run, directory, workers)

        def take(frame: DataFrame, batch: int) -> None:
            batches.take([Piece(row["file"], row["start"], row["end"]) for row in frame.collect()], batch)

        session.dataSource.register(GrowingLogs)
        source = session.readStream.format(FORMAT).option(PATH, str((run / LOGS).resolve()))
        logs = source.option(MOST_BYTES, str(BATCH_BYTES * workers.parallelism)).load()
        writer = logs.writeStream.foreachBatch(take).option("checkpointLocation", str(directory / "checkpoint"))
        query = writer.trigger(processingTime=f"{seconds:g} seconds").start()
        try:
            yield query, batches
        finally:
            query.stop()


def _await_beginning(run: Path, tell: Progress) -> None:
    """The manifest names no variant before its brokers have started."""
    give_up = time.monotonic() + BEGIN_SECONDS
    while run.is_dir() and not ended(run) and time.monotonic() < give_up:
        try:
            open_run(run)
        except RunDirectoryError:
            tell("waiting for the first variant to begin")
            time.sleep(LOOK_SECONDS)
        else:
            return
    open_run(run)


def _watch(query: StreamingQuery, batches: Batches, run: Path, show: Show) -> Exception | None:
    """Until the run has ended, or the stream, for a reason that is returned."""
    shown: LiveSummary | None = None
    while not ended(run) and query.isActive:
        time.sleep(LOOK_SECONDS)
        if batches.summary is not shown and batches.summary is not None:
            shown = batches.summary
            show(shown)
    return query.exception()


def _final(run: Path, session: SparkSession, tell: Progress) -> Summary:
    """That of whoever ran it, where he analyses it too."""
    time.sleep(LOOK_SECONDS)
    with exclusive(run, tell):
        made = run / SUMMARY
        if made.exists() and made.stat().st_mtime_ns >= (run / FIDELITY).stat().st_mtime_ns:
            return read_summary(run)
    return analyze(run, RunningSpark(session), tell)
