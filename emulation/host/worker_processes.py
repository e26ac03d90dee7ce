"""Runs pieces of work in processes of their own, a limited number at a time. No process is left, however this one
ends."""

from __future__ import annotations

import multiprocessing
import signal
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from multiprocessing import forkserver, resource_tracker
from multiprocessing.connection import wait
from multiprocessing.context import ForkServerProcess
from typing import Generic, TypeVar

from record.errors import HostError
from record.exit_codes import ExitCode
from record.forked_processes import WorkFailedError, end_with_parent

Work = TypeVar("Work")


class WorkBrokenError(Exception):
    """A process ended by an error of brokerlab's own, and has printed the stack trace."""


WorkFailure = WorkFailedError | WorkBrokenError


class WorkerProcesses(Generic[Work]):
    """Starts one process for each piece of work, forked from a server that has already imported `preload`."""

    def __init__(self, do: Callable[[Work], None], jobs: int, preload: Iterable[str] = ()) -> None:
        """`do` must be a function of a module; it writes its results to the disk."""
        self._do = do
        self._jobs = jobs
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(list(preload))
        self._running: dict[int, tuple[Work, ForkServerProcess]] = {}

    def run(self, work: Iterable[Work]) -> Generator[Work, None, None]:
        """Yields each piece as it is done. Raises the first failure. Ends all processes when closed early."""
        with closing(self.outcomes(work)) as outcomes:
            for piece, failure in outcomes:
                if failure is not None:
                    raise failure
                yield piece

    def outcomes(self, work: Iterable[Work]) -> Generator[tuple[Work, WorkFailure | None], None, None]:
        """Yields each piece when its process has ended, with its failure if it failed; the others go on.

        Ends all processes when closed early.
        """
        waiting = iter(work)
        _start_server()
        try:
            self._start(waiting)
            while self._running:
                for sentinel in wait(list(self._running)):
                    assert isinstance(sentinel, int)
                    piece, process = self._running.pop(sentinel)
                    process.join()
                    self._start(waiting)
                    yield piece, _failure(piece, process.exitcode or 0)
        finally:
            self._end()

    def _start(self, waiting: Iterator[Work]) -> None:
        while len(self._running) < self._jobs:
            piece = next(waiting, None)
            if piece is None:
                return
            process = self._context.Process(target=_work, args=(self._do, piece), daemon=True)
            try:
                process.start()
            except (EOFError, ConnectionError) as error:
                raise HostError(
                    "the process from which workers are forked was ended from outside; was memory short? Run again"
                ) from error
            self._running[process.sentinel] = (piece, process)

    def _end(self) -> None:
        for _, process in self._running.values():
            process.terminate()
        for _, process in self._running.values():
            process.join()
        self._running.clear()


def _start_server() -> None:
    """Starts the server with Ctrl-C blocked, for itself and what it forks, because it would print a stack trace if it
    were interrupted while it imports. The resource tracker comes first, because its start unblocks Ctrl-C."""
    resource_tracker.ensure_running()
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def _failure(piece: object, exit_code: int) -> WorkFailure | None:
    if exit_code == ExitCode.CORRECT:
        return None
    if exit_code < 0 or exit_code in (ExitCode.BAD_INPUT, ExitCode.HOST):
        return WorkFailedError(piece, exit_code)
    return WorkBrokenError(f"{piece}: its process ended with code {exit_code}")


def _work(do: Callable[[Work], None], piece: Work) -> None:
    """Ends when the parent is killed. Ctrl-C is blocked, because the parent handles it and ends this process."""
    threading.Thread(target=end_with_parent, daemon=True).start()
    do(piece)
