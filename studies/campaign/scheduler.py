"""The main loop of a campaign: runs the cells that have no result yet and records every attempt as it ends."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager

from emulation.host.signals import handled_signals
from record.callbacks import do_nothing
from studies.campaign.cell import Cell
from studies.campaign.directory import CampaignDirectory
from studies.campaign.executors.hosts import HostExecutor
from studies.campaign.executors.interface import Executor, ExecutorOptions, ProgressBoard
from studies.campaign.executors.processes import process_executor


def unfinished_cells(directory: CampaignDirectory, cells: Sequence[Cell]) -> list[Cell]:
    """The cells that have no result yet, in order."""
    return [cell for cell in cells if directory.result(cell) is None]


def run_cells(
    options: ExecutorOptions, directory: CampaignDirectory, cells: Sequence[Cell], board: ProgressBoard
) -> bool:
    """Runs cells and records every attempt. Returns False if the user ended it before its end.

    Must be called while the directory is held. Raises `UserError`s.
    """
    interrupt = CampaignInterrupt()
    executor = _executor(options, directory, board, interrupt)
    try:
        with interrupt.handled():
            record_attempts(directory, cells, options.retries, executor, board)
    except KeyboardInterrupt:
        return False
    directory.tidy()
    return not interrupt.asked


def record_attempts(
    directory: CampaignDirectory, cells: Sequence[Cell], retries: int, executor: Executor, board: ProgressBoard
) -> None:
    """Runs cells and records every attempt at each. Must be called while the directory is held."""
    with closing(executor(cells)) as attempts:
        for attempted in attempts:
            number = len(directory.attempts(attempted.cell)) + 1
            final = attempted.attempt.is_final(number, retries)
            directory.record(attempted.cell, attempted.attempt, final=final)
            board.end(attempted, final=final)


class CampaignInterrupt:
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


def _executor(
    options: ExecutorOptions, directory: CampaignDirectory, board: ProgressBoard, interrupt: CampaignInterrupt
) -> Executor:
    if options.master is not None:
        from studies.campaign.executors.spark import spark_executor  # noqa: PLC0415 - half a second, for Spark alone

        return spark_executor(options.master, directory, options.keep, board.print_line)
    if options.in_processes:
        return process_executor(directory, options.keep, options.processes)
    hosts = HostExecutor(options, directory, board)

    def end_orderly() -> None:
        board.print_line("ending the running cells in order; Ctrl-C again does not wait for them")
        hosts.stop()

    interrupt.end_orderly, interrupt.end_at_once = end_orderly, hosts.abandon
    return hosts.run
