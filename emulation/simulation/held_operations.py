"""The operations of a held run in virtual time: those of its plan, and those by hand between them.

They come in the order in which the scenario that is saved afterwards has them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import islice

from scenario.workload.operations import OperationKind, PlannedOperation
from scenario.workload.workload import Workload

_Name = tuple[int, str, OperationKind, str]


class HeldOperations:
    """An iterator over operations that takes further ones, whose times have not passed."""

    def __init__(self, workload: Workload) -> None:
        self._planned = workload.operations()
        self._written = frozenset(map(_name, workload.explicit))
        self._ahead = deque[PlannedOperation]()
        """Planned operations that were taken from the plan and not given."""
        self._by_hand: list[PlannedOperation] = []
        """Operations by hand that were not given."""
        self._hands: set[_Name] = set()
        self._end: int | None = None

    def __iter__(self) -> Iterator[PlannedOperation]:
        return self

    def __next__(self) -> PlannedOperation:
        if not self._ahead:
            self._ahead.extend(islice(self._planned, 1))
        if self._by_hand and (not self._ahead or self._precedes(self._by_hand[0], self._ahead[0])):
            given = self._by_hand.pop(0)
        elif self._ahead:
            given = self._ahead.popleft()
        else:
            raise StopIteration
        if self._end is not None and given.at >= self._end:
            raise StopIteration
        return given

    def insert(self, operation: PlannedOperation, given: PlannedOperation | None) -> PlannedOperation:
        """Adds an operation, where `given` is the latest that was given and has not been issued. Returns the operation
        to be issued in its place."""
        if given is not None and _name(given) in self._hands:
            self._by_hand.insert(0, given)
        elif given is not None:
            self._ahead.appendleft(given)
        self._hands.add(_name(operation))
        self._by_hand.append(operation)
        self._by_hand.sort(key=lambda one: one.at)
        return next(self)

    def end_at(self, at: int) -> None:
        """Gives no operation from this time on."""
        self._end = at

    def _precedes(self, by_hand: PlannedOperation, planned: PlannedOperation) -> bool:
        """At one time, operations that are written out come first, those by hand behind the others of them."""
        return by_hand.at < planned.at or (by_hand.at == planned.at and _name(planned) not in self._written)


def _name(operation: PlannedOperation) -> _Name:
    return operation.at, operation.client, operation.operation, operation.id
