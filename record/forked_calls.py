"""Calls that are made side by side in forked processes, which know all that this process knows.

With one process each is made in this one, when its result is wanted. Results are sent, so they should be small beside
the work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import TypeVar

from record.forked_processes import Ended, ForkedProcesses, forked

Result = TypeVar("Result")
Call = Callable[[], Result]


@contextmanager
def called_beside(call: Call[Result], name: str, processes: int) -> Iterator[Call[Result]]:
    """Begins a call of this name for people, beside what the block does; yields the function that awaits its result.

    That raises the error of the call, and `WorkFailedError` where its process was killed. A call whose result is not
    awaited is given up at the end of the block.
    """
    if processes < 2:
        yield call
        return

    def do(_number: int, _connection: Connection) -> Result:
        return call()

    with forked(1, do, lambda _number: name) as workers:
        workers.begin(0)

        def awaited() -> Result:
            return _awaited(workers)[0].taken()

        yield awaited


def results_of(calls: Sequence[Call[Result]], name: str, processes: int) -> list[Result]:
    """The results of calls, in their order. Raises the first error of one, and `WorkFailedError` as above."""
    if min(processes, len(calls)) < 2:
        return [call() for call in calls]

    def do(number: int, _connection: Connection) -> Result:
        return calls[number]()

    ended: dict[int, Ended[Result]] = {}
    with forked(min(processes, len(calls)), do, lambda number: f"{name} {number + 1}") as workers:
        for number in range(len(calls)):
            if not workers.idle:
                ended |= _awaited(workers)
            workers.begin(number)
        while workers.running:
            ended |= _awaited(workers)
    return [ended[number].taken() for number in range(len(calls))]


def _awaited(workers: ForkedProcesses[Result]) -> dict[int, Ended[Result]]:
    """The ends of calls, at least of one."""
    return dict(workers.receive())
