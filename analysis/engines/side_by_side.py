"""Tables that are computed side by side, in forked processes, and taken in their order.

Processes leave them in files that were made before they were forked, because a table that is pickled and sent is copied
several times, in small pieces.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from multiprocessing.connection import Connection
from tempfile import TemporaryFile
from typing import BinaryIO

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
            opened = (TemporaryFile(prefix="brokerlab-", buffering=0) for _ in range(processes * _AHEAD))  # noqa: SIM115
            places = [self._stage.enter_context(file) for file in opened]
            workers = self._stage.enter_context(forked(processes, _leaving(compute, places), _name))
            yield from _taken(tables, places, workers)

    def end(self) -> None:
        """Kills the processes of a stage that ended early."""
        self._stage.close()


def _leaving(compute: Compute, places: Sequence[BinaryIO]) -> Callable[[int, Connection], None]:
    """Computes a table and leaves it at the place of its number; no other one is there then."""

    def do(number: int, _connection: Connection) -> None:
        _write(compute(number), places[number % len(places)].fileno())

    return do


def _name(number: int) -> str:
    return f"part {number + 1} of this step of the analysis"


def _taken(tables: int, places: Sequence[BinaryIO], workers: ForkedProcesses[None]) -> Iterator[pa.Table]:
    """Tables in their order, of which no more than there are places are computed or wait at a time."""
    ended: dict[int, Ended[None]] = {}
    begun = 0
    for number in range(tables):
        while number not in ended:
            while workers.idle and begun < min(number + len(places), tables):
                workers.begin(begun)
                begun += 1
            ended |= dict(workers.receive())
        ended.pop(number).taken()
        yield _read(places[number % len(places)])


def _write(table: pa.Table, file: int) -> None:
    """Writes a table at the begin of a file, whose position all processes share and only the driver moves."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    left, at = memoryview(sink.getvalue()), 0
    while left:
        written = os.pwrite(file, left, at)
        left, at = left[written:], at + written


def _read(file: BinaryIO) -> pa.Table:
    """The table at the begin of a file, in memory of its own. A stream states its end, so a longer one that was there
    before does no harm."""
    file.seek(0)
    return pa.ipc.open_stream(file).read_all()
