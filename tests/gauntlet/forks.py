"""Forks: tasks run each in a process of its own, forked from this one after all imports, a few at a time."""

from __future__ import annotations

import gc
import multiprocessing
import signal
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Generic, TypeVar

Key = TypeVar("Key")
Result = TypeVar("Result")

_FORK = multiprocessing.get_context("fork")


@dataclass(frozen=True, slots=True)
class Ended(Generic[Result]):
    """The end of a task."""

    result: Result | None
    """Result of the task; None when it failed."""
    failure: str
    """The stack trace of what the task raised, or why its process ended without a result; empty for a result."""
    seconds: float
    """Time from the fork to the end."""


@dataclass(slots=True)
class _Running(Generic[Key]):
    key: Key
    process: BaseProcess
    begun: float


class Forks:
    """Runs tasks in forked processes, `workers` at a time, each ended after `within` seconds."""

    def __init__(self, workers: int, within: float) -> None:
        self._workers = workers
        self._within = within

    def each(self, tasks: Iterable[tuple[Key, Callable[[], Result]]]) -> Iterator[tuple[Key, Ended[Result]]]:
        """The tasks' ends, in the order of the tasks.

        Tasks are taken from the iterable as workers get free, a few ahead of the first that has not ended. Whatever
        still runs is killed when the iteration ends early, by Ctrl-C for example.
        """
        gc.collect()
        gc.freeze()
        waiting = iter(tasks)
        order: deque[int] = deque()
        ended: dict[int, tuple[Key, Ended[Result]]] = {}
        running: dict[Connection, tuple[int, _Running[Key]]] = {}
        number = 0
        try:
            while True:
                while len(running) < self._workers and len(order) < 4 * self._workers:
                    task = next(waiting, None)
                    if task is None:
                        break
                    connection, begun = self._begin(*task)
                    running[connection] = number, begun
                    order.append(number)
                    number += 1
                if not order:
                    return
                for connection in self._wait(running):
                    place, one = running.pop(connection)
                    ended[place] = one.key, self._end(connection, one)
                while order and order[0] in ended:
                    yield ended.pop(order.popleft())
        finally:
            for connection, (_, one) in running.items():
                _kill(one.process)
                connection.close()

    def _begin(self, key: Key, task: Callable[[], Result]) -> tuple[Connection, _Running[Key]]:
        here, there = _FORK.Pipe(duplex=False)
        process = _FORK.Process(target=_perform, args=(task, there), daemon=True)
        process.start()
        there.close()
        return here, _Running(key, process, time.monotonic())

    def _wait(self, running: dict[Connection, tuple[int, _Running[Key]]]) -> list[Connection]:
        """Connections of processes that have ended or are out of time; at least one."""
        first = min(one.begun for _, one in running.values())
        wait(running.keys(), timeout=max(0.0, first + self._within - time.monotonic()))
        now = time.monotonic()
        return [
            connection
            for connection, (_, one) in running.items()
            if connection.poll() or now >= one.begun + self._within
        ]

    def _end(self, connection: Connection, one: _Running[Key]) -> Ended[Result]:
        result: Result | None = None
        failure = f"not ended after {self._within:g} s"
        if connection.poll():
            try:
                result, failure = connection.recv()
            except EOFError:
                failure = "its process ended without a result"
        connection.close()
        _kill(one.process)
        return Ended(result, failure, time.monotonic() - one.begun)


def _perform(task: Callable[[], Result], connection: Connection) -> None:
    """The forked process. Ctrl-C ends it at once, because its parent reports."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        connection.send((task(), ""))
    except Exception:
        connection.send((None, traceback.format_exc()))
    finally:
        connection.close()


def _kill(process: BaseProcess) -> None:
    process.join(timeout=0.2)
    if process.is_alive():
        process.kill()
    process.join()
