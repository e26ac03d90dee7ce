"""Tallies as Arrow tables, and their total: rows with the same key become one.

A stage counts in rows of structs. The fields of a row that have one of the types below are counts; all others are its
key. A *tally* is a struct whose fields are lists of such rows, or tallies themselves, and becomes a table of one row.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from functools import cache
from typing import Annotated, Any, Generic, Self, TypeVar, get_args, get_origin, get_type_hints

import msgspec
import pyarrow as pa

from analysis.tables.rows import rows_of, table_of
from analysis.tables.schema import arrow_schema

_ADDED_TOGETHER = 64
"""Tallies that are collected before they are added up, so that memory does not grow with their number."""


class _How(StrEnum):
    """The aggregate functions of Arrow that counts are totalled by, over rows that ascend by their counts."""

    SUM = "sum"
    LARGEST = "max"
    OF_LARGEST = "last"


Sum = Annotated[int, _How.SUM]
"""The total is the sum, in 64 bits, which wraps around."""
Largest = Annotated[int, _How.LARGEST]
LargestKnown = Annotated[int | None, _How.LARGEST]
"""None where the number is not known."""
OfLargest = Annotated[str, _How.OF_LARGEST]
"""The text of the row that has the largest number, where rows have one such number."""

_Row = TypeVar("_Row", bound=msgspec.Struct)
_Tally = TypeVar("_Tally", bound=msgspec.Struct)


class Tallies(Generic[_Tally]):
    """Tallies of one kind, as tables of one row."""

    def __init__(self, tally: type[_Tally], tables: Sequence[pa.Table] = ()) -> None:
        self._tally = tally
        self._tables = list(tables)

    @classmethod
    def of(cls, tally: _Tally) -> Self:
        """One tally."""
        return cls(type(tally), [table_of([tally], type(tally))])

    def merge(self, other: Self) -> None:
        """Adds the tallies of others."""
        self._tables += other._tables
        if len(self._tables) >= _ADDED_TOGETHER:
            self._tables = [table_of([self.total()], self._tally)]

    def total(self) -> _Tally:
        """One tally in place of all."""
        return _total(pa.concat_tables(self._tables), self._tally) if self._tables else self._tally()


def added_up(table: pa.Table, row: type[_Row]) -> list[_Row]:
    """The rows of a table with one for each key, in the order of keys. A row without counts stays as it is."""
    functions = _functions(row)
    if not functions:
        return rows_of(table, row)
    keys = [name for name in table.column_names if name not in functions]
    by_largest = [name for how in (_How.LARGEST, _How.OF_LARGEST) for name in functions if functions[name] is how]
    ordered = table.sort_by([(name, "ascending") for name in (*keys, *by_largest)])
    totals = ordered.group_by(keys, use_threads=False).aggregate([(name, how.value) for name, how in functions.items()])
    columns = [totals.column(f"{name}_{functions[name]}" if name in functions else name) for name in table.column_names]
    return rows_of(pa.Table.from_arrays(columns, schema=arrow_schema(row)), row)


def _total(tallies: pa.Table, tally: type[_Tally]) -> _Tally:
    fields: dict[str, Any] = {}
    for name, kind in get_type_hints(tally).items():
        column = tallies.column(name).combine_chunks()
        if get_origin(kind) is list:
            fields[name] = added_up(pa.Table.from_struct_array(column.flatten()), get_args(kind)[0])
        else:
            fields[name] = _total(pa.Table.from_struct_array(column), kind)
    return tally(**fields)


@cache
def _functions(row: type[msgspec.Struct]) -> dict[str, _How]:
    """The function of each count."""
    hints = get_type_hints(row, include_extras=True)
    return {name: kind.__metadata__[0] for name, kind in hints.items() if get_origin(kind) is Annotated}
