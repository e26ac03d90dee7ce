"""The main loop of a study: runs cells and records every attempt as it ends."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager

from rich.console import Console

from emulation.host.signals import handled_signals
from record.callbacks import do_nothing
from studies.cells.attempt import CellFailure
from studies.cells.board import ConsoleBoard, RemainingTime
from studies.cells.cell import AnyCell, Cell, Result
from studies.cells.executors.hosts import HostExecutor
from studies.cells.executors.interface import Executor, ExecutorOptions
from studies.cells.executors.processes import process_executor
from studies.cells.store import AnyStore, CellStore


def run_cells(
    options: ExecutorOptions, store: AnyStore, cells: Sequence[AnyCell], console: Console, pace: float = 0.0
) -> bool:
    """Runs the cells that have no result yet, and records and shows every attempt. Returns False if the user ended it
    before its end.

    A cell that fails is recorded as failed, and the others go on. `pace` is an estimate of the seconds that a unit of
    cells' costs takes, until an attempt has taken some. Must be called while the store is held. Raises `UserError`s
    where no further cell can be run.
    """
    needed = store.unfinished(cells)
    if not needed:
        return True
    remaining = RemainingTime(needed, options.in_parallel, pace)
    for cell in cells:
        for attempt in store.attempts(cell):
            remaining.note(cell, attempt.seconds)
    interrupt = StudyInterrupt()
    with ConsoleBoard(console, len(cells), len(cells) - len(needed), remaining) as board:
        executor = _executor(options, store, board, interrupt)
        try:
            with interrupt.handled():
                record_attempts(store, needed, options.retries, executor, board)
        except KeyboardInterrupt:
            return False
    store.tidy()
    return not interrupt.asked


def require_results(
    options: ExecutorOptions, store: CellStore[Result], cells: Sequence[Cell[Result]], console: Console
) -> list[Result]:
    """The results of cells, of which the missing ones are run. Must be called while the store is held.

    Raises `KeyboardInterrupt` where the user ended it, and the error of a cell that failed.
    """
    if not run_cells(options, store, cells, console):
        raise KeyboardInterrupt
    return [store.require(cell) for cell in cells]


def record_attempts(
    store: AnyStore, cells: Sequence[AnyCell], retries: int, executor: Executor, board: ConsoleBoard
) -> None:
    """Runs cells and records every attempt at each. Must be called while the store is held."""
    with closing(executor(cells)) as attempts:
        for attempted in attempts:
            cell, attempt, final = attempted.cell, attempted.attempt, True
            if isinstance(attempt, CellFailure):
                store.record_failure(cell, attempt)
            else:
                final = attempt.is_final(len(store.attempts(cell)) + 1, retries)
                store.record(cell, attempt, final=final)
            board.end(attempted, final=final)


class StudyInterrupt:
    """The reaction to Ctrl-C: the first asks for an orderly end where that takes time, the second waits for nothing."""

    def __init__(self) -> None:
        self.asked = False
        self.end_orderly: Callable[[], None] | None = None
        """Asks for an orderly end; None where the work may be left at any moment."""
        self.end_at_once: Callable[[], None] = do_nothing
        """Ends work that runs outside of this process."""

    @contextmanager
    def handled(self) -> Iterator[None]:
        """Takes over Ctrl-C, SIGTERM and a closed terminal. Raises `KeyboardInterrupt` in the body."""
        previous = {number: signal.signal(number, self._handle) for number in handled_signals()}
        try:
            yield
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)

    def _handle(self, number: int, frame: object) -> None:
        again, self.asked = self.asked, True
        if self.end_orderly is None or again:
            self.end_at_once()
            raise KeyboardInterrupt
        self.end_orderly()


def _executor(options: ExecutorOptions, store: AnyStore, board: ConsoleBoard, interrupt: StudyInterrupt) -> Executor:
    if options.master is not None:
        from studies.cells.executors.spark import spark_executor  # noqa: PLC0415 - half a second, for Spark alone

        return spark_executor(options.master, store, options.keep, board.print_line)
    if options.in_processes:
        return process_executor(store, options.keep, options.processes)
    hosts = HostExecutor(options, store, board)

    def end_orderly() -> None:
        board.print_line("ending the running cells in order; Ctrl-C again does not wait for them")
        hosts.stop()

    interrupt.end_orderly, interrupt.end_at_once = end_orderly, hosts.abandon
    return hosts.run
