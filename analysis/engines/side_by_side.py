"""Tables that are computed side by side, in forked processes, and taken in their order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from multiprocessing.connection import Connection

import numpy.ma  # noqa: F401 - loaded on first use otherwise, which would be in each process anew
import pyarrow as pa
import pyarrow.compute

from record.forked_processes import Ended, ForkedProcesses, forked

Compute = Callable[[int], pa.Table]
"""Computes the table of this number."""

_AHEAD = 2
"""Tables for each process that may wait in memory for one before them."""


class Processes:
    """Processors' worth of processes. They are forked for each stage, so they know what the driver has found so far,
    and nothing but results has to be sent."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._stage = ExitStack()

    def in_order(self, tables: int, compute: Compute) -> Iterator[pa.Table]:
        """Tables that are numbered from 0. With one process, or for one table, they are computed in this process.

        Raises the error of the first table that has one, and `WorkFailedError` where a process was killed.
        """
        processes = min(self._number, tables)
        if processes < 2:
            yield from map(compute, range(tables))
            return
        with ExitStack() as self._stage:
            workers = self._stage.enter_context(forked(processes, _answering(compute), _name))
            yield from _taken(tables, processes * _AHEAD, workers)

    def end(self) -> None:
        """Kills the processes of a stage that ended early."""
        self._stage.close()


def _answering(compute: Compute) -> Callable[[int, Connection], pa.Table]:
    def do(number: int, _connection: Connection) -> pa.Table:
        return compute(number)

    return do


def _name(number: int) -> str:
    return f"part {number + 1} of this step of the analysis"


def _taken(tables: int, ahead: int, workers: ForkedProcesses[pa.Table]) -> Iterator[pa.Table]:
    """Tables in their order, of which no more than `ahead` are computed or wait at a time."""
    ended: dict[int, Ended[pa.Table]] = {}
    begun = 0
    for number in range(tables):
        while number not in ended:
            while workers.idle and begun < min(number + ahead, tables):
                workers.begin(begun)
                begun += 1
            ended |= dict(workers.receive())
        yield ended.pop(number).taken()
