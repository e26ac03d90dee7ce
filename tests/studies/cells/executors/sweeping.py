"""A sweep on Spark in a process of its own, which the test disturbs."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from pyspark import SparkContext

from studies.campaign import CampaignCell
from studies.campaign.directory import CampaignDirectory
from studies.cells.attempt import Attempt, Keep
from studies.cells.executors.spark import spark_executor


def sweep_that_loses_its_workers(planned: tuple[CampaignCell, ...], directory: CampaignDirectory) -> dict[str, bytes]:
    """Runs cells, and kills every Python process of Spark after the first result, whatever it does.

    All run directories are brought to the campaign's.
    """
    found: dict[str, bytes] = {}
    with closing(spark_executor("local[2]", directory, Keep.ALL, print)(planned)) as tries:
        for attempted in tries:
            if not found:
                assert _kill_python_workers() > 0
            assert attempted.cell.key not in found
            assert isinstance(attempted.attempt, Attempt)
            found[attempted.cell.key] = attempted.attempt.result.encode()
    return found


def _kill_python_workers() -> int:
    """Processes that Spark's daemon has forked to run tasks; the daemon makes new ones."""
    assert SparkContext._gateway is not None
    java = SparkContext._gateway.proc.pid  # type: ignore[attr-defined]
    killed = 0
    for worker in [worker for daemon in _children(java) for worker in _children(daemon)]:
        with contextlib.suppress(ProcessLookupError):  # it has ended by itself
            os.kill(worker, signal.SIGKILL)
            killed += 1
    return killed


def _children(pid: int) -> Iterator[int]:
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
        for task in list(Path(f"/proc/{pid}/task").iterdir()):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # as this thread of Java's has
                yield from map(int, (task / "children").read_text().split())
