"""The analysis of a run: its directory in, tables and summary out."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from analysis.errors import AnalysisHostError
from analysis.logs import log_loss, read_lines, records_of
from analysis.pipeline import build_tables
from analysis.results import write_table
from analysis.run_directory import RunDirectory, open_run
from analysis.session import LOCAL_MASTER, open_session
from analysis.summarise import summarise
from analysis.summary import Summary, write_summary

Progress = Callable[[str], None]
"""Is told what is being done now, in a few words."""
JOBS_SIDE_BY_SIDE = 4
"""Small Spark jobs spend most of their time in planning; side by side they keep two cores busy."""


def analyze(run_directory: Path, master: str = LOCAL_MASTER, on_progress: Progress | None = None) -> Summary:
    """Writes `results/` and `summary.json` of a run, replacing older ones, and returns the summary.

    Raises `AnalysisError` for what the user can mend: no such run, no Java, no room on the disk.
    """
    run = open_run(run_directory)
    tell = on_progress or _silence
    tell("starting Spark")
    with open_session(master, log_bytes=sum(file.stat().st_size for file in run.log_files)) as session:
        return analyze_in(session, run, tell)


def analyze_in(session: SparkSession, run: RunDirectory, on_progress: Progress | None = None) -> Summary:
    """As `analyze`, in a session opened before: `analysis.session.open_session` may start while a run drains."""
    tell = on_progress or _silence
    with _errors_in_words(run.path), ThreadPoolExecutor(JOBS_SIDE_BY_SIDE) as executor:
        run.results.mkdir(exist_ok=True)
        tell("reading logs")
        lines = read_lines(session, run)
        counting = executor.submit(log_loss, lines, run)
        writing: dict[Future[None], str] = {}

        def write(name: str, table: DataFrame) -> None:
            writing[executor.submit(write_table, table, run.results, name)] = name

        tables = build_tables(session, run, records_of(lines), planned=write)
        loss = counting.result()
        tell(f"computing tables from {loss.records:,} records")
        summary = summarise(run, loss, tables, executor)
        for number, done in enumerate(as_completed(writing), 1):
            done.result()
            tell(f"wrote {writing[done]} ({number} of {len(writing)})")
        write_summary(summary, run.path)
        session.catalog.clearCache()
        return summary


@contextmanager
def _errors_in_words(run: Path) -> Iterator[None]:
    """A full disk, here or in Spark, becomes one line."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise _disk_full(run) from error
    except PySparkException as error:
        if "No space left on device" not in str(error):
            raise
        raise _disk_full(run) from error


def _disk_full(run: Path) -> AnalysisHostError:
    return AnalysisHostError(
        f"no space left on the disk of {run} or of the temporary directory: make room (TMPDIR moves the latter), "
        f"then `brokerlab analyze {run}`; the logs are untouched"
    )


def _silence(_what: str) -> None:
    """Nobody listens."""
