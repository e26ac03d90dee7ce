"""Structs as rows of Arrow tables, and back: for tables of thousands of rows, not of millions.

What a stage of the analysis counts is a table of such rows. What there is of each message stays in columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import TypeVar

import msgspec
import numpy as np
import pyarrow as pa
from pyarrow.json import ParseOptions, ReadOptions, read_json

from analysis.tables.schema import arrow_schema

_Row = TypeVar("_Row", bound=msgspec.Struct)


def table_of(rows: Sequence[_Row], row: type[_Row]) -> pa.Table:
    """The rows as a table with the schema of their struct, whose decimals must be finite.

    It is made by way of JSON, because from lists Arrow would load pandas wherever that is installed. Raises
    `pa.ArrowInvalid` for integers of more than 64 bits.
    """
    schema = arrow_schema(row)
    if not rows:
        return pa.Table.from_arrays([pa.nulls(0, field.type) for field in schema], schema=schema)
    lines = msgspec.json.Encoder().encode_lines(rows)
    whole = ReadOptions(use_threads=False, block_size=len(lines))
    read = read_json(BytesIO(lines), read_options=whole, parse_options=ParseOptions(explicit_schema=schema))
    return pa.Table.from_arrays(read.columns, schema=schema)  # this schema marks what is never null


def rows_of(table: pa.Table, row: type[_Row]) -> list[_Row]:
    """The rows of a table as structs. Raises `msgspec.ValidationError` for a table of another schema."""
    return msgspec.convert(table.to_pylist(), list[row])  # type: ignore[valid-type]


def nested(table: pa.Table) -> pa.Array:
    """A table as the only value of a field: an array of one list of structs."""
    columns = [column.combine_chunks() for column in table.columns]
    values = pa.StructArray.from_arrays(columns, fields=list(table.schema))
    offsets = pa.Array.from_buffers(pa.int32(), 2, [None, pa.py_buffer(np.array([0, len(values)], np.int32))])
    return pa.ListArray.from_arrays(offsets, values)
