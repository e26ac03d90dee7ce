"""Calls side by side, for work that mostly waits for others, such as Docker's daemon."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")


class SideBySide:
    """A number of threads that make calls."""

    def __init__(self, threads: int, name: str) -> None:
        self._threads, self._name = threads, name
        self._pool = self._new_pool()

    def each(self, function: Callable[[Item], Outcome], items: Iterable[Item]) -> list[Outcome]:
        """Calls side by side; all are awaited, then the first failure is raised."""
        futures = [self._pool.submit(function, item) for item in items]
        failures = [failure for future in futures if (failure := future.exception()) is not None]
        if failures:
            raise failures[0]
        return [future.result() for future in futures]

    def finish(self) -> None:
        """Returns when all calls of `each` that have begun are done; those that wait are not made."""
        self._pool.shutdown(cancel_futures=True)
        self._pool = self._new_pool()

    def _new_pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self._threads, thread_name_prefix=self._name)
