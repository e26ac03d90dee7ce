"""The analysis of a run: its directory in, tables and summary out."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from analysis.engines import Engine
from analysis.pipeline.progress import Progress
from analysis.pipeline.small_tables import write_small_tables
from analysis.pipeline.stages import run_stages
from analysis.pipeline.summarise import summarise
from analysis.run_files.run_directory import open_run
from analysis.run_files.soundness import require_own_directory
from analysis.run_files.stores import StoreFolder, publish
from analysis.tables.event_choice import EventTable
from analysis.tables.summary import Summary, write_summary
from record.callbacks import do_nothing
from record.errors import DISK_IS_FULL, HostError, RunDirectoryError
from record.file_lock import take_lock
from record.files import LOGS

_NO_SPACE = "No space left on device"
"""In the message of an error that a Spark worker had."""


def analyze(
    run_directory: Path,
    engine: Engine,
    on_progress: Progress | None = None,
    events: EventTable = EventTable.NONE,
    store: StoreFolder | None = None,
) -> Summary:
    """Writes `results/` and `summary.json` of a run, replacing older ones, and returns the summary.

    A run on a store is given by that and the directory with copies of its small files (`copied_run`).

    The table `events` is written on demand, because most callers want verdicts alone.

    Every engine writes the same. Raises `UserError` for what the user can correct: no such run, no Java where the
    engine needs it, no room on the disk.
    """
    run = open_run(run_directory, store)
    if not run.log_files:
        raise RunDirectoryError(
            f"{run.path / LOGS}: no logs (*.jsonl), because the run ended before any node began to log; run the "
            "scenario again"
        )
    require_own_directory(run.results)
    progress = on_progress or do_nothing
    progress(f"starting {engine.name}")
    with engine.open() as workers, _exclusive(run.path, progress), _failures_in_words(run.path):
        run.results.mkdir(exist_ok=True)
        findings = run_stages(run, workers, progress, events)
        progress("writing tables")
        write_small_tables(run, findings)
        summary = summarise(run, findings)
        write_summary(summary, run.path)
        if store is not None:
            publish(run.path, store)
        return summary


@contextmanager
def _exclusive(run: Path, progress: Progress) -> Iterator[None]:
    """Waits until no other process analyses this run: two would remove each other's parts of tables."""
    directory = os.open(run, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if not take_lock(directory):
            progress("waiting for another analysis of this run")
            fcntl.flock(directory, fcntl.LOCK_EX)
        yield
    finally:
        os.close(directory)


@contextmanager
def _failures_in_words(run: Path) -> Iterator[None]:
    """Turns two failures, here or at a worker, into one line each: a full disk, and numbers in logs that are so large
    that their sums fit no table."""
    try:
        yield
    except (OverflowError, pa.ArrowInvalid) as error:
        raise RunDirectoryError(
            f"{run / LOGS}: they hold numbers that no run writes ({error}); they are damaged: copy them again, or run "
            "the scenario again"
        ) from error
    except Exception as error:
        full = isinstance(error, OSError) and error.errno in DISK_IS_FULL
        if not full and _NO_SPACE not in str(error):
            raise
        raise HostError(
            f"no space left on the disk of {run} or of the temporary directory: make room (TMPDIR moves the latter), "
            f"then `brokerlab analyze {run}`; the logs are untouched"
        ) from error
