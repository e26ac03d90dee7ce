"""Tasks side by side in forked processes, which know all that this process knew when it forked them.

1. A task is a number. A process does one after another and sends the result of each, or the error that ended it.
2. While it works it may send messages of its own over the same connection, and hears of None that the task should end.
3. A process that this one ends is killed: it owns nothing that has to be put in order. None outlives this process.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import pickle
import signal
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from typing import Any, Generic, TypeVar, cast

from record.errors import UserError
from record.exit_codes import ExitCode

Result = TypeVar("Result")
Do = Callable[[int, Connection], Result]
"""Does the task of this number."""

_FORK = multiprocessing.get_context("fork")


class WorkFailedError(UserError):
    """A process could not do its work and has reported the reason, or was killed, perhaps because memory was short."""

    def __init__(self, work: object, exit_code: int) -> None:
        how = f"was killed by {signal.Signals(-exit_code).name}" if exit_code < 0 else f"ended with code {exit_code}"
        super().__init__(f"{work}: its process {how}")
        self.killed = exit_code < 0
        self.exit_code = ExitCode.HOST if self.killed else exit_code


@dataclass(frozen=True, slots=True)
class Ended(Generic[Result]):
    """The end of a task."""

    result: Result | None
    error: Exception | None

    def taken(self) -> Result:
        """The result. Raises the error that ended the task."""
        if self.error is not None:
            raise self.error
        return cast("Result", self.result)


class ForkedProcesses(Generic[Result]):
    """Processes that do tasks by a function. The caller decides which task begins when."""

    def __init__(self, do: Do[Result], name_of: Callable[[int], str]) -> None:
        """`name_of` is the name of a task for people, in the error of a process that was killed."""
        self.idle: list[Connection] = []
        """Connections of processes that have nothing to do."""
        self._do = do
        self._name_of = name_of
        self._processes: dict[Connection, ForkProcess] = {}
        self._tasks: dict[Connection, int] = {}

    @property
    def running(self) -> frozenset[int]:
        """The tasks that have begun and not ended."""
        return frozenset(self._tasks.values())

    def start(self) -> None:
        """Forks a process, which is idle."""
        here, there = _FORK.Pipe()
        process = _FORK.Process(target=_serve, args=(self._do, there), daemon=True)
        process.start()
        there.close()
        self._processes[here] = process
        self.idle.append(here)

    def begin(self, task: int) -> None:
        """Lets an idle process begin a task."""
        connection = self.idle.pop()
        self._tasks[connection] = task
        connection.send(task)

    def ask_to_end(self) -> None:
        """Lets all tasks that run hear that they should end."""
        for connection in self._tasks:
            connection.send(None)

    def receive(self, seconds: float | None = None) -> Iterator[tuple[int, Any]]:
        """Waits for messages of running tasks, so long at most; an `Ended` is the last of a task.

        Raises `WorkFailedError` where a process was killed; its task runs no more then.
        """
        for connection in wait(list(self._tasks), seconds):
            assert isinstance(connection, Connection)
            task = self._tasks[connection]
            try:
                message = connection.recv()
            except (EOFError, ConnectionError):
                process = self._processes.pop(connection)
                process.join()
                del self._tasks[connection]
                connection.close()
                raise WorkFailedError(self._name_of(task), process.exitcode or 0) from None
            if isinstance(message, Ended):
                del self._tasks[connection]
                self.idle.append(connection)
            yield task, message

    def end(self) -> None:
        """Kills all processes."""
        for process in self._processes.values():
            process.kill()
        for connection, process in self._processes.items():
            process.join()
            connection.close()
        self._processes.clear()


@contextmanager
def forked(processes: int, do: Do[Result], name_of: Callable[[int], str]) -> Iterator[ForkedProcesses[Result]]:
    """Idle processes, which are killed at the end of the block."""
    started = ForkedProcesses(do, name_of)
    try:
        for _ in range(processes):
            started.start()
        yield started
    finally:
        started.end()


def end_with_parent() -> None:
    """Ends this process, which `multiprocessing` started, as soon as its parent has ended. Never returns before."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def picklable(error: Exception) -> Exception:
    """The error, with the stack trace of this process where that is of use."""
    trace = "".join(traceback.format_exception(error))
    if not isinstance(error, (UserError, OSError)):
        error.add_note(trace)
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - of our own
    except Exception:
        return RuntimeError(trace)
    return error


def _serve(do: Do[Result], connection: Connection) -> None:
    """Does the tasks whose numbers come over the connection. Signals are for the process at its other end."""
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    gc.freeze()  # to look through what the parent has would copy its memory
    threading.Thread(target=end_with_parent, daemon=True).start()
    try:
        while (task := connection.recv()) is not None:
            connection.send(_done(do, task, connection))
    except (EOFError, ConnectionError):
        return  # there is nothing more to do


def _done(do: Do[Result], task: int, connection: Connection) -> Ended[Result]:
    try:
        return Ended(do(task, connection), None)
    except Exception as error:
        return Ended(None, picklable(error))
