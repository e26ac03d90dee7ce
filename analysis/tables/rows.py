"""Objects as rows of Arrow tables, and back: for tables of thousands of rows, not of millions.

A row is a msgspec struct, a dataclass or a named tuple, whose fields may be such objects too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from inspect import Parameter, signature
from itertools import pairwise
from operator import attrgetter
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from msgspec import inspect

from analysis.engines.arrays import array_of
from analysis.tables.schema import Compound, arrow_schema, compound, without_none

_Row = TypeVar("_Row")


def table_of(rows: Sequence[_Row], row: type[_Row]) -> pa.Table:
    """The rows as a table with the schema of their type.

    Raises `OverflowError` for integers of more than 64 bits.
    """
    schema = arrow_schema(row)
    columns = [array_of([*map(attrgetter(field.name), rows)], field.type) for field in schema]
    return pa.Table.from_arrays(columns, schema=schema)


def rows_of(table: pa.Table, row: type[_Row]) -> list[_Row]:
    """The rows of a table, which has the schema of their type. Equal texts of a field are one object."""
    described = compound(row)
    return [made for batch in table.to_batches() for made in _made(described, batch.columns)]


def _made(described: Compound, columns: Iterable[pa.Array]) -> Iterable[Any]:
    """Objects, given a column for each of their fields."""
    values = [_values(column, field.type) for column, field in zip(columns, described.fields, strict=True)]
    if _by_position(described.cls):
        return map(described.cls, *values)
    names = [field.name for field in described.fields]
    return (described.cls(**dict(zip(names, one, strict=True))) for one in zip(*values, strict=True))


@cache
def _by_position(kind: Callable[..., Any]) -> bool:
    return all(parameter.kind is not Parameter.KEYWORD_ONLY for parameter in signature(kind).parameters.values())


def _values(column: pa.Array, described: inspect.Type) -> list[Any]:
    found: list[Any]
    present, nullable = without_none(described)
    match present:
        case inspect.StructType() | inspect.DataclassType() | inspect.NamedTupleType():
            found = [*_made(present, column.flatten())]
        case inspect.ListType(item_type=item):
            found = _cut(column, _values(column.flatten(), item))
        case inspect.VarTupleType(item_type=item):
            found = [*map(tuple, _cut(column, _values(column.flatten(), item)))]
        case inspect.EnumType(cls=enumeration):
            members = {None: None, **{member.value: member for member in enumeration}}
            return [members[value] for value in column.to_pylist()]
        case inspect.StrType():
            known: dict[str, str] = {}
            return [known.setdefault(value, value) for value in column.to_pylist()]
        case _:
            found = column.to_pylist()
            return found
    if nullable and column.null_count:
        valid = column.is_valid().to_pylist()
        return [value if exists else None for value, exists in zip(found, valid, strict=True)]
    return found


def _cut(lists: pa.ListArray, elements: Sequence[Any]) -> list[Any]:
    """The elements of each list."""
    ends = np.cumsum([0, *(0 if length is None else length for length in lists.value_lengths().to_pylist())])
    return [elements[begin:end] for begin, end in pairwise(ends.tolist())]
