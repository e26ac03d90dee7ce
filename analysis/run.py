"""The analysis of a run: its directory in, tables and summary out."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from analysis.engines import Engine
from analysis.pipeline import Findings, find
from analysis.reading.progress import Progress
from analysis.run_files.run_directory import RunDirectory, open_run
from analysis.summarise import summarise
from analysis.tables.phase_table import phase_table
from analysis.tables.results import write_table
from analysis.tables.summary import Summary, write_summary
from analysis.tables.tables import (
    BrokerMessages,
    DelayByHops,
    DelayDistribution,
    DelayOverTime,
    Drop,
    Fault,
    LinkLoad,
    MatchingLoad,
    PhaseTimes,
    QueueLength,
    RouterWork,
)
from record.errors import HostError, RunDirectoryError

_NO_SPACE = "No space left on device"


def analyze(run_directory: Path, engine: Engine, on_progress: Progress | None = None) -> Summary:
    """Writes `results/` and `summary.json` of a run, replacing older ones, and returns the summary.

    Every engine writes the same. Raises `UserError` for what the user can mend: no such run, no Java where the
    engine needs it, no room on the disk.
    """
    run = open_run(run_directory)
    if not run.log_files:
        raise RunDirectoryError(f"{run.logs}: no logs (*.jsonl); the run ended before any node began to log")
    tell = on_progress or _silence
    tell(f"starting {engine.name}")
    with engine.open() as workers, alone(run.path, tell), _errors_in_words(run.path):
        run.results.mkdir(exist_ok=True)
        findings = find(run, workers, tell)
        tell("writing tables")
        _write_small_tables(run, findings)
        summary = summarise(run, findings)
        write_summary(summary, run.path)
        return summary


def _write_small_tables(run: RunDirectory, findings: Findings) -> None:
    traffic, delays, results = findings.traffic, findings.delays, run.results
    write_table(traffic.messages(), results, BrokerMessages)
    write_table(traffic.links(), results, LinkLoad)
    write_table(traffic.matching(), results, MatchingLoad)
    write_table(findings.work.by_broker(), results, RouterWork)
    write_table(traffic.drops(run.brokers), results, Drop)
    write_table(findings.faults.faults(), results, Fault)
    write_table(traffic.queues(), results, QueueLength)
    write_table(delays.over_time(), results, DelayOverTime)
    write_table(delays.distribution(), results, DelayDistribution)
    write_table(delays.by_hops(), results, DelayByHops)
    write_table(phase_table(run.manifest.variants), results, PhaseTimes)


@contextmanager
def alone(run: Path, tell: Progress) -> Iterator[None]:
    """Waits until nobody else analyses this run: two would remove each other's parts of tables."""
    directory = os.open(run, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            tell("waiting for another analysis of this run")
            fcntl.flock(directory, fcntl.LOCK_EX)
        yield
    finally:
        os.close(directory)


@contextmanager
def _errors_in_words(run: Path) -> Iterator[None]:
    """A full disk, here or in a worker, becomes one line."""
    try:
        yield
    except Exception as error:
        full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
        if not full and _NO_SPACE not in str(error):
            raise
        raise _disk_full(run) from error


def _disk_full(run: Path) -> HostError:
    return HostError(
        f"no space left on the disk of {run} or of the temporary directory: make room (TMPDIR moves the latter), "
        f"then `brokerlab analyze {run}`; the logs are untouched"
    )


def _silence(_what: str) -> None:
    """Nobody listens."""
