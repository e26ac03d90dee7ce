"""Tables of conditions: the distinct conditions of many conjunctions, each evaluated once on a column of publications.

For each attribute and kind of value:

1. The operands of its conditions are a scale (`scales`). A condition of order holds for a range of places, and `<>` and
   `neq` for all places but one.
2. The publications of a chunk are sorted by place. The publications for which a condition of order holds follow one
   another in that order; binary search finds the first and the end.
3. Conditions on parts of strings are evaluated once for each different string.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from analysis.judging.language.bits import Numbers, Words, prefix_rows, row_of, words_for
from analysis.judging.language.columns import Columns, StringColumn
from analysis.judging.language.conditions import PARTS, SIGNS, Condition, Relation, is_part
from analysis.judging.language.scales import NumberScale, Places, StringScale

_MAX_REMEMBERED: Final = 10_000
"""Strings of an attribute whose parts are remembered."""
_BEYOND: Final = np.iinfo(np.int64).max
"""A place above all."""


class ConditionTable:
    """Distinct conditions, numbered: first those of order, by attribute and kind, then those on parts of strings."""

    def __init__(self, conditions: Iterable[Condition]) -> None:
        columns: dict[tuple[str, bool], list[Condition]] = {}
        parts: dict[str, list[Condition]] = {}
        for condition in dict.fromkeys(conditions):
            if condition.relation in PARTS:
                parts.setdefault(condition.attribute, []).append(condition)
            else:
                columns.setdefault((condition.attribute, isinstance(condition.operand, str)), []).append(condition)
        self.numbers: dict[Condition, int] = {}
        self._columns: list[_Column] = []
        for (attribute, string), of_column in columns.items():
            self._columns.append(_Column(attribute, string, of_column, len(self.numbers)))
            for condition in self._columns[-1].conditions:
                self.numbers[condition] = len(self.numbers)
        self.ordered = len(self.numbers)
        """The number of conditions of order; those with greater numbers are on parts."""
        self.column = np.repeat(
            np.arange(len(self._columns)), [len(column.conditions) for column in self._columns]
        ).astype(np.int64)
        """The column of each condition of order."""
        self.different = np.array([made.relation is Relation.DIFFERENT for made in self.numbers], dtype=np.bool_)
        """True for those that hold for all places but one."""
        self._parts = {attribute: _Parts(made, self.numbers) for attribute, made in parts.items()}

    def on(self, columns: Columns) -> Holding:
        """The publications of a chunk for which the conditions hold."""
        first, end = np.zeros((2, self.ordered), dtype=np.int64)
        ranks = np.full((len(self._columns), columns.size), -1, dtype=np.int64)
        orders: list[Numbers] = []
        for number, column in enumerate(self._columns):
            publications, places = column.places(columns)
            order = np.argsort(places, kind="stable")
            in_order = places[order]
            first[column.span] = np.searchsorted(in_order, column.low)
            end[column.span] = np.searchsorted(in_order, column.high)
            orders.append(publications[order])
            ranks[number, orders[-1]] = np.arange(len(order))
        parts = np.zeros((len(self.numbers) - self.ordered, words_for(columns.size)), dtype=np.uint64)
        for attribute, made in self._parts.items():
            strings = columns.strings.get(attribute)
            if strings is not None:
                parts[made.conditions - self.ordered] = made.rows(strings, columns.size)
        return Holding(self, first, end, ranks, orders, parts)


@dataclass(frozen=True, slots=True)
class Holding:
    """The publications of a chunk for which conditions hold."""

    table: ConditionTable
    first: Numbers
    """Place in `orders` of the first publication for which a condition of order holds; of conditions that hold for all
    places but one, of the first for which they do not."""
    end: Numbers
    """The place behind the last one."""
    ranks: Numbers
    """Place of a publication in `orders`, or -1, by column and publication."""
    orders: Sequence[Numbers]
    """Publications that have a value in a column, in the order of their values, by column."""
    parts: Words
    """The rows of bits of the conditions on parts."""

    @property
    def most(self) -> Numbers:
        """Number of publications for which a condition of order holds, at most, by condition."""
        sizes = np.array([len(order) for order in self.orders], dtype=np.int64)
        table = self.table
        return np.where(table.different, sizes[table.column], self.end - self.first)

    def publications(self, conditions: Numbers) -> tuple[Numbers, Numbers]:
        """All publications for which these conditions hold, none of them `DIFFERENT`: the index in `conditions`, and
        the publication."""
        counts = self.end[conditions] - self.first[conditions]
        which = np.repeat(np.arange(len(conditions)), counts)
        within = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
        offsets = np.cumsum([0, *map(len, self.orders)])[self.table.column[conditions]]
        places = np.repeat(offsets + self.first[conditions], counts) + within
        return which, np.concatenate(self.orders)[places] if len(places) else places

    def hold(self, conditions: Numbers, publications: Numbers) -> NDArray[np.bool_]:
        """True for each pair of a condition of order and a publication for which it holds."""
        ranks = self.ranks[self.table.column[conditions], publications]
        within = (ranks >= self.first[conditions]) & (ranks < self.end[conditions])
        return np.where(self.table.different[conditions], (ranks >= 0) & ~within, within)

    def rows(self, conditions: Numbers) -> Words:
        """The rows of bits of these conditions, which ascend."""
        table = self.table
        ordered = int(np.searchsorted(conditions, table.ordered))
        found = np.empty((len(conditions), self.parts.shape[1]), dtype=np.uint64)
        found[ordered:] = self.parts[conditions[ordered:] - table.ordered]
        ends = np.searchsorted(table.column[conditions[:ordered]], np.arange(len(self.orders) + 1))
        for column, (begin, end) in enumerate(zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)):
            if begin == end:
                continue
            chosen = conditions[begin:end]
            beginnings = prefix_rows(self.orders[column], found.shape[1])
            np.take(beginnings, self.end[chosen], axis=0, out=found[begin:end])
            found[begin:end] ^= beginnings[self.first[chosen]]
            found[begin:end][table.different[chosen]] ^= beginnings[-1]
        return found


class _Column:
    """The conditions of order on values of one kind for one attribute."""

    def __init__(self, attribute: str, string: bool, conditions: Sequence[Condition], first: int) -> None:
        """`first` is the number of the first condition."""
        self._attribute = attribute
        compared = [condition.operand for condition in conditions if condition.relation is not Relation.PRESENT]
        self._strings = StringScale(map(str, compared)) if string else None
        self._numbers = NumberScale(operand for operand in compared if not isinstance(operand, str))
        ranges = {condition: _range(condition, self._place_of) for condition in conditions}
        self.conditions = sorted(conditions, key=ranges.__getitem__)  # searches in ascending order keep to the cache
        self.span = slice(first, first + len(conditions))
        self.low = np.array([ranges[condition][0] for condition in self.conditions], dtype=np.int64)
        self.high = np.array([ranges[condition][1] for condition in self.conditions], dtype=np.int64)

    def places(self, columns: Columns) -> tuple[Numbers, Places]:
        """The publications that have a value here, and the places of their values."""
        nothing = np.empty(0, dtype=np.int64)
        if self._strings is not None:
            strings = columns.strings.get(self._attribute)
            return (nothing, nothing) if strings is None else (strings.rows, self._strings.places(strings.strings))
        numbers = columns.numbers.get(self._attribute)
        if numbers is None:
            return nothing, nothing
        return numbers.rows, self._numbers.places(numbers.doubles, numbers.exact)

    def _place_of(self, operand: int | float | str) -> int:
        if isinstance(operand, str):
            return 0 if self._strings is None else self._strings.place_of_operand(operand)
        return self._numbers.place_of_operand(operand)


class _Parts:
    """The conditions on parts of one attribute's strings."""

    def __init__(self, conditions: Sequence[Condition], numbers: dict[Condition, int]) -> None:
        """Numbers the conditions."""
        self._wanted = [(condition.relation, str(condition.operand)) for condition in conditions]
        self.conditions = np.arange(len(numbers), len(numbers) + len(conditions))
        numbers |= {condition: len(numbers) + place for place, condition in enumerate(conditions)}
        self._remembered: dict[str, NDArray[np.bool_]] = {}

    def rows(self, column: StringColumn, size: int) -> Words:
        """The rows of these conditions for publications that have these strings."""
        different = {string: number for number, string in enumerate(dict.fromkeys(column.strings))}
        holds = np.array([self._holds(string) for string in different])
        truths = np.zeros((len(self._wanted), size), dtype=np.bool_)
        truths[:, column.rows] = holds.T[:, [different[string] for string in column.strings]]
        return row_of(truths)

    def _holds(self, string: str) -> NDArray[np.bool_]:
        """For each of the conditions, whether it holds for a string."""
        found = self._remembered.get(string)
        if found is None:
            if len(self._remembered) >= _MAX_REMEMBERED:
                self._remembered.clear()
            found = self._remembered[string] = np.array(
                [is_part(string, relation, operand) for relation, operand in self._wanted], dtype=np.bool_
            )
        return found


def _range(condition: Condition, place_of: Callable[[int | float | str], int]) -> tuple[int, int]:
    """The places for which a condition holds, from the first to the one behind the last; of `DIFFERENT`, the place for
    which it does not."""
    if condition.relation is Relation.PRESENT:
        return 0, _BEYOND
    own = place_of(condition.operand)
    signs = (0,) if condition.relation is Relation.DIFFERENT else SIGNS[condition.relation]
    return (0 if -1 in signs else own + (0 not in signs), _BEYOND if 1 in signs else own + (0 in signs))
