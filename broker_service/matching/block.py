"""Blocks of some thousand subscriptions as arrays: one row of bounds each, all compared with a publication at once.

Layout. `_bounds` has two rows per attribute with a column (the low end and the negative of the high end, see
`bounds`) and one column per subscription, so that each comparison runs along contiguous memory. `_keys` and
`_condition_numbers` lie parallel to it. Subscriptions are dense: the last takes the place of a removed one.

This is the one module that needs NumPy; it is imported when the first bucket outgrows plain Python.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from broker_service.language import Value
from broker_service.language.content import all_hold
from broker_service.matching.bounds import UNBOUNDED, AttributeLimits, Conjunction
from broker_service.matching.conditions import FAILS, HOLDS, UNKNOWN, Conditions

K = TypeVar("K", bound=Hashable)

_LEAST_CAPACITY = 16

End = tuple[str, int]
"""An attribute and one of its bounds: 0 is the low end, 1 the negative of the high end."""


class Division(NamedTuple):
    """A division of the bounds of one end: those up to `value`, and those beyond."""

    attribute: str
    end: int
    value: float


class Block(Generic[K]):
    """Subscriptions whose bounds are compared as arrays, for at most `most_columns` attributes."""

    __slots__ = ("_bounds", "_columns", "_condition_numbers", "_conditions", "_keys", "_most_columns", "_rows")

    def __init__(self, most_columns: int) -> None:
        self._most_columns = most_columns
        self._rows: dict[K, int] = {}
        self._columns: dict[str, int] = {}
        self._bounds: NDArray[np.float64] = np.empty((0, _LEAST_CAPACITY))
        self._keys: NDArray[np.object_] = np.empty(_LEAST_CAPACITY, dtype=object)
        self._condition_numbers: NDArray[np.int32] = np.empty(_LEAST_CAPACITY, dtype=np.int32)
        self._conditions = Conditions()

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, key: K, conjunction: Conjunction) -> None:
        """Append a subscription (its access predicate is not in the conjunction)."""
        intervals = conjunction.intervals
        for attribute in intervals:
            if attribute not in self._columns and len(self._columns) < self._most_columns:
                self._add_column(attribute)
        row = len(self._rows)
        if row == len(self._keys):
            self._resize(row + row // 2 + 1)
        column_of_bounds: list[float] = []
        for attribute in self._columns:
            column_of_bounds += intervals.get(attribute, UNBOUNDED)
        self._bounds[:, row] = column_of_bounds
        self._condition_numbers[row] = self._conditions.acquire(conjunction.besides(self._columns))
        self._keys[row] = key
        self._rows[key] = row

    def remove(self, key: K) -> None:
        """Removes a subscription. Raises `KeyError` when it is not in the block."""
        row = self._rows.pop(key)
        self._conditions.release(int(self._condition_numbers[row]))
        last = len(self._rows)
        if row != last:
            moved = self._keys[last]
            self._bounds[:, row] = self._bounds[:, last]
            self._condition_numbers[row] = self._condition_numbers[last]
            self._keys[row] = moved
            self._rows[moved] = row
        self._keys[last] = None
        if last < len(self._keys) // 4 and len(self._keys) > _LEAST_CAPACITY:
            self._resize(max(len(self._keys) // 2, _LEAST_CAPACITY))

    def match(self, attributes: Mapping[str, Value], limits: AttributeLimits, keys: list[K]) -> None:
        """Append the keys of the subscriptions that match; when `limits` are not exact, also of some that may not."""
        conditions = self._conditions
        shared = len(conditions) == 1
        if shared and not all_hold(conditions[int(self._condition_numbers[0])], attributes):
            return
        rows = self._within(limits) if self._columns else np.arange(len(self._rows))
        if not shared:
            rows = self._satisfied(rows, attributes)
        keys += self._keys.take(rows).tolist()

    def _within(self, limits: AttributeLimits) -> NDArray[np.intp]:
        """The rows whose bounds stay within the limits."""
        bounds = self._bounds[:, : len(self._rows)]
        within = np.less_equal(bounds, np.array(limits.of(self._columns)).reshape(-1, 1))
        rows: NDArray[np.intp] = np.logical_and.reduce(within, axis=0).nonzero()[0]
        return rows

    def _satisfied(self, rows: NDArray[np.intp], attributes: Mapping[str, Value]) -> NDArray[np.intp]:
        """The rows among these whose condition holds, evaluating each distinct condition once."""
        numbers = self._condition_numbers[rows]
        findings = self._conditions.findings(attributes)
        known: NDArray[np.uint8] = np.frombuffer(findings, dtype=np.uint8)
        found = known[numbers]
        if not found.all():
            for number in np.bincount(numbers[found == UNKNOWN]).nonzero()[0].tolist():
                findings[number] = HOLDS if all_hold(self._conditions[number], attributes) else FAILS
            found = known[numbers]
        satisfied: NDArray[np.intp] = rows[found == HOLDS]
        return satisfied

    def division(self, forks: Callable[[End], int]) -> Division | None:
        """The best way to part the subscriptions in two: at the median of the most used end.

        `forks` tells how often the path to this block has forked at an end, and each time halves its worth. None where
        all have the same bounds.
        """
        bounds = self._bounds[:, : len(self._rows)]
        ends = [(attribute, end) for attribute in self._columns for end in (0, 1)]
        worth = [-(used >> forks(end)) for used, end in zip((bounds > -np.inf).sum(axis=1).tolist(), ends, strict=True)]
        for position in sorted(range(len(ends)), key=worth.__getitem__):
            values = np.unique(bounds[position])
            if len(values) > 1:
                used = np.sort(bounds[position][bounds[position] > -np.inf])
                middle = min(float(used[(len(used) - 1) // 2]), float(values[-2]))
                return Division(*ends[position], middle)
        return None

    def divided(self, division: Division) -> tuple[Block[K], Block[K]]:
        """A block of the subscriptions whose bound is at most the division's value, and one of the others."""
        bounds = self._bounds[2 * self._columns[division.attribute] + division.end, : len(self._rows)]
        beyond = bounds > division.value
        return self._part(np.flatnonzero(~beyond)), self._part(np.flatnonzero(beyond))

    def _part(self, rows: NDArray[np.intp]) -> Block[K]:
        part: Block[K] = Block(self._most_columns)
        part._columns = dict(self._columns)
        part._bounds = np.ascontiguousarray(self._bounds[:, rows])
        part._keys = self._keys[rows]
        part._rows = {key: row for row, key in enumerate(part._keys.tolist())}
        numbers = [
            part._conditions.acquire(self._conditions[number]) for number in self._condition_numbers[rows].tolist()
        ]
        part._condition_numbers = np.array(numbers, dtype=np.int32)
        return part

    def _add_column(self, attribute: str) -> None:
        self._columns[attribute] = len(self._columns)
        self._bounds = np.concatenate([self._bounds, np.full((2, len(self._keys)), -np.inf)])

    def _resize(self, capacity: int) -> None:
        self._bounds = _resized(self._bounds, capacity)
        self._keys = _resized(self._keys, capacity)
        self._condition_numbers = _resized(self._condition_numbers, capacity)


def _resized(array: NDArray[Any], capacity: int) -> NDArray[Any]:
    """A copy with room for `capacity` subscriptions along the last axis."""
    copy = np.empty((*array.shape[:-1], capacity), dtype=array.dtype)
    kept = min(array.shape[-1], capacity)
    copy[..., :kept] = array[..., :kept]
    return copy
