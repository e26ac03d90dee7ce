"""Structs as rows of Arrow tables, and back: for tables of thousands of rows, not of millions."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import TypeVar

import msgspec
import pyarrow as pa

from analysis.engines.arrays import array_of
from analysis.tables.schema import arrow_schema

_Row = TypeVar("_Row", bound=msgspec.Struct)


def table_of(rows: Sequence[_Row], row: type[_Row]) -> pa.Table:
    """The rows as a table with the schema of their struct.

    Raises `OverflowError` for integers of more than 64 bits.
    """
    schema = arrow_schema(row)
    columns = [array_of([*map(attrgetter(field.name), rows)], field.type) for field in schema]
    return pa.Table.from_arrays(columns, schema=schema)


def rows_of(table: pa.Table, row: type[_Row]) -> list[_Row]:
    """The rows of a table as structs. Raises `msgspec.ValidationError` for a table of another schema."""
    values = zip(*(column.to_pylist() for column in table.columns), strict=True)
    if row.__struct_config__.array_like:
        return msgspec.convert([*values], list[row])  # type: ignore[valid-type]
    names = table.column_names
    return msgspec.convert([dict(zip(names, one, strict=True)) for one in values], list[row])  # type: ignore[valid-type]
