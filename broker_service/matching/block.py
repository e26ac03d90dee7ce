"""Some thousand subscriptions as arrays: one row of bounds each, all compared with a publication at once.

Layout. `_bounds` has two rows per attribute with a column (the low end and the negative of the high end, see
`bounds`) and one column per subscription, so that each comparison runs along contiguous memory. `_keys` and
`_condition_numbers` lie parallel to it. Subscriptions are dense: the last takes the place of a removed one.

This is the one module that needs NumPy; it is imported when the first bucket outgrows plain Python.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from broker_service.language import Predicate, Value
from broker_service.matching.bounds import UNBOUNDED, Bounds, Limits, bounds_of, intersection
from broker_service.matching.conditions import Conditions
from broker_service.matching.evaluation import all_hold

K = TypeVar("K", bound=Hashable)

_LEAST_CAPACITY = 16


class Block(Generic[K]):
    """At most `rows` subscriptions with at most `columns` attributes compared as numbers."""

    __slots__ = (
        "_bounds",
        "_columns",
        "_condition_numbers",
        "_conditions",
        "_keys",
        "_most_columns",
        "_most_rows",
        "_rows",
    )

    def __init__(self, rows: int, columns: int) -> None:
        self._most_rows = rows
        self._most_columns = columns
        capacity = min(_LEAST_CAPACITY, rows)
        self._rows: dict[K, int] = {}
        self._columns: dict[str, int] = {}
        self._bounds: NDArray[np.float64] = np.empty((0, capacity))
        self._keys: NDArray[np.object_] = np.empty(capacity, dtype=object)
        self._condition_numbers: NDArray[np.int32] = np.empty(capacity, dtype=np.int32)
        self._conditions = Conditions()

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, key: object) -> bool:
        return key in self._rows

    @property
    def full(self) -> bool:
        """Whether no further subscription fits."""
        return len(self._rows) >= self._most_rows

    def add(self, key: K, predicates: tuple[Predicate, ...]) -> None:
        """Append a subscription of these predicates (the access predicate is not among them)."""
        intervals: dict[str, Bounds] = {}
        remainder: list[Predicate] = []
        for predicate in predicates:
            bounds = bounds_of(predicate)
            if bounds is None or not self._has_column(predicate.attribute):
                remainder.append(predicate)
            else:
                intervals[predicate.attribute] = intersection(intervals.get(predicate.attribute, UNBOUNDED), bounds)
        row = len(self._rows)
        if row == len(self._keys):
            self._resize(min(row + row // 2, self._most_rows))
        column_of_bounds: list[float] = []
        for attribute in self._columns:
            column_of_bounds += intervals.get(attribute, UNBOUNDED)
        self._bounds[:, row] = column_of_bounds
        self._condition_numbers[row] = self._conditions.acquire(tuple(remainder))
        self._keys[row] = key
        self._rows[key] = row

    def remove(self, key: K) -> None:
        """Take a subscription out. Raises `KeyError` where it is not here."""
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

    def match(self, attributes: Mapping[str, Value], limits: Limits) -> list[K]:
        """Return the keys of the subscriptions that match, or might where `limits` turn out not to be exact."""
        conditions = self._conditions
        shared = len(conditions) == 1
        if shared and not all_hold(conditions[int(self._condition_numbers[0])], attributes):
            return []
        bounds = self._bounds[:, : len(self._rows)]
        within = np.less_equal(bounds, np.array(limits.of(self._columns)).reshape(-1, 1))
        rows = np.logical_and.reduce(within, axis=0).nonzero()[0]
        if not shared:
            rows = self._satisfied(rows, attributes)
        keys: list[K] = self._keys.take(rows).tolist()
        return keys

    def _satisfied(self, rows: NDArray[np.intp], attributes: Mapping[str, Value]) -> NDArray[np.intp]:
        """Return those of the rows whose condition holds, evaluating each distinct condition once."""
        numbers = self._condition_numbers[rows]
        uses = np.bincount(numbers)
        holds = np.zeros(len(uses), dtype=np.bool_)
        for number in uses.nonzero()[0].tolist():
            holds[number] = all_hold(self._conditions[number], attributes)
        satisfied: NDArray[np.intp] = rows[holds[numbers]]
        return satisfied

    def _has_column(self, attribute: str) -> bool:
        """Give the attribute a column if one is left; say whether it has one."""
        if attribute in self._columns:
            return True
        if len(self._columns) >= self._most_columns:
            return False
        self._columns[attribute] = len(self._columns)
        self._bounds = np.concatenate([self._bounds, np.full((2, len(self._keys)), -np.inf)])
        return True

    def _resize(self, capacity: int) -> None:
        self._bounds = _resized(self._bounds, capacity)
        self._keys = _resized(self._keys, capacity)
        self._condition_numbers = _resized(self._condition_numbers, capacity)


def _resized(array: NDArray[Any], capacity: int) -> NDArray[Any]:
    """Return a copy with room for `capacity` subscriptions along the last axis."""
    copy = np.empty((*array.shape[:-1], capacity), dtype=array.dtype)
    kept = min(array.shape[-1], capacity)
    copy[..., :kept] = array[..., :kept]
    return copy
