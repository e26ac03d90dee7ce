"""Arrays between Arrow, NumPy and Python, without Arrow's own conversions, which load pandas where it is installed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import chain
from operator import attrgetter
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

LARGEST = (1 << 31) - 1
"""The most elements or bytes that the lists, texts or binaries of one array may have together."""


def numbers_of(column: pa.ChunkedArray) -> NDArray[Any]:
    """The integers of a column without nulls, in memory of their own."""
    kind = np.dtype(str(column.type))
    chunks = [_numbers(chunk, kind) for chunk in column.chunks if len(chunk)]
    return np.concatenate(chunks) if chunks else np.empty(0, kind)


def lengths_of(column: pa.ChunkedArray) -> NDArray[np.int32]:
    """The number of elements of each list in a column of lists, none of which is null."""
    ends = [_numbers(chunk.offsets, np.dtype(np.int32)) for chunk in column.chunks if len(chunk)]
    return np.concatenate([np.diff(end) for end in ends]) if ends else np.empty(0, np.int32)


def elements_of(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The elements of all lists in a column of lists."""
    return pa.chunked_array([chunk.flatten() for chunk in column.chunks], column.type.value_type)


def rows_in(column: pa.ChunkedArray) -> pa.Table:
    """The elements of all lists in a column of lists of structs, as the rows of a table."""
    structs = elements_of(column)
    schema = pa.schema([structs.type.field(number) for number in range(structs.type.num_fields)])
    batches = [pa.RecordBatch.from_struct_array(chunk) for chunk in structs.chunks if len(chunk)]
    return pa.Table.from_batches(batches, schema)


def integers(numbers: Sequence[int] | NDArray[Any], kind: pa.DataType) -> pa.Array:
    """Numbers as an array of integers, in the memory of an array of NumPy that has them as they are: nobody may change
    that afterwards. Raises `OverflowError` for numbers that are too large for it."""
    return _fixed(np.ascontiguousarray(np.asarray(numbers, str(kind))), kind)


def lists(elements: pa.Array, lengths: Sequence[int] | NDArray[Any]) -> pa.ListArray:
    """Elements, one list after another. Raises `OverflowError` for too many."""
    return pa.ListArray.from_arrays(_fixed(_ends(lengths), pa.int32()), elements)


def keyed_lists(schema: pa.Schema, keys: Sequence[int], **rows: Sequence[NDArray[np.int64]]) -> pa.Table:
    """A table of a key of 32 bits and lists of numbers of 64 bits, of which those not given are empty. The numbers for
    a key may have several dimensions."""
    nothing = [np.empty(0, dtype=np.int64)] * len(keys)
    columns = [integers(keys, pa.int32())]
    for name in schema.names[1:]:
        found = [each.reshape(-1) for each in rows.get(name, nothing)]
        numbers = np.concatenate(found) if found else np.empty(0, dtype=np.int64)
        columns.append(lists(integers(numbers, pa.int64()), [*map(len, found)]))
    return pa.table(columns, schema=schema)


def gathered_lists(
    schema: pa.Schema, column: str, keys: NDArray[np.int64], pieces: list[NDArray[np.int64]]
) -> pa.Table:
    """A table like those of `keyed_lists`, with one column filled: given the key of each row, and the rows in pieces.
    Pieces are removed from their list one by one, so that memory holds all rows once."""
    if not len(keys):
        return schema.empty_table()
    found, counts = np.unique(keys, return_counts=True)
    place = np.empty(len(keys), np.int64)
    place[np.argsort(keys, kind="stable")] = np.arange(len(keys))
    rows = np.empty((len(keys), pieces[0].shape[1]), np.int64)
    begin = len(keys)
    while pieces:
        piece = pieces.pop()
        begin -= len(piece)
        rows[place[begin : begin + len(piece)]] = piece
    gathered = lists(integers(rows.reshape(-1), pa.int64()), counts * rows.shape[1])
    number = schema.get_field_index(column)
    return keyed_lists(schema, found.tolist()).set_column(number, schema.field(number), gathered)


def row_of(rows: pa.Table) -> pa.ListArray:
    """A table as the only value of a column of lists of structs."""
    columns = [column.chunk(0) if column.num_chunks == 1 else column.combine_chunks() for column in rows.columns]
    return lists(pa.StructArray.from_arrays(columns, fields=list(rows.schema)), [rows.num_rows])


def array_of(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Values as an array; structs are objects with an attribute for each field.

    Raises `OverflowError` for integers of more than 64 bits, and for too many elements or bytes.
    """
    return _filled(values, kind) if values else _empty(kind)


@cache
def _empty(kind: pa.DataType) -> pa.Array:
    """Most columns of a small run are empty."""
    return _filled((), kind)


def _filled(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    missing = values.count(None)
    valid = None if not missing else pa.py_buffer(_bits([value is not None for value in values]))
    if pa.types.is_struct(kind):
        fields = [kind.field(number) for number in range(kind.num_fields)]
        parts = [array_of(_each(attrgetter(field.name), values, missing), field.type) for field in fields]
        return pa.Array.from_buffers(kind, len(values), [valid], missing, children=parts)
    if missing:
        neutral = _NEUTRAL.get(kind, ())
        values = [neutral if value is None else value for value in values]
    if pa.types.is_list(kind):
        ends = _fixed(_ends([*map(len, values)]), pa.int32()).buffers()[1]
        elements = array_of([*chain.from_iterable(values)], kind.value_type)
        return pa.Array.from_buffers(kind, len(values), [valid, ends], missing, children=[elements])
    return pa.Array.from_buffers(kind, len(values), [valid, *_plain(values, kind)], missing)


_NEUTRAL = {pa.string(): "", pa.binary(): b"", pa.bool_(): False, pa.float64(): 0.0, pa.int64(): 0, pa.int32(): 0}
"""The values in the place of nulls."""


def _plain(values: Sequence[Any], kind: pa.DataType) -> list[pa.Buffer]:
    """The buffers of values that are neither structs nor lists."""
    if pa.types.is_string(kind):
        text = "".join(values)
        encoded = text.encode()
        sizes = map(len, values) if len(encoded) == len(text) else (len(value.encode()) for value in values)
        return [pa.py_buffer(_ends([*sizes])), pa.py_buffer(encoded)]
    if pa.types.is_binary(kind):
        return [pa.py_buffer(_ends([*map(len, values)])), pa.py_buffer(b"".join(values))]
    if pa.types.is_boolean(kind):
        return [pa.py_buffer(_bits(values))]
    return [pa.py_buffer(np.array(values, "float64" if pa.types.is_float64(kind) else str(kind)))]


def _each(get: Callable[[Any], Any], values: Iterable[Any], missing: int) -> list[Any]:
    return [None if value is None else get(value) for value in values] if missing else [*map(get, values)]


def _bits(truths: Sequence[bool]) -> NDArray[np.uint8]:
    return np.packbits(np.array(truths, np.bool_), bitorder="little")


def _ends(lengths: Sequence[int] | NDArray[Any]) -> NDArray[np.int32]:
    """The begin of each of several things one after another, and the end of the last."""
    ends = np.zeros(len(lengths) + 1, np.int64)
    np.asarray(lengths, np.int64).cumsum(out=ends[1:])
    if ends[-1] > LARGEST:
        raise OverflowError(f"{ends[-1]} elements or bytes are too many for one array")
    return ends.astype(np.int32)


def _fixed(values: NDArray[Any], kind: pa.DataType) -> pa.Array:
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(values)])


def _numbers(array: pa.Array, kind: np.dtype[Any]) -> NDArray[Any]:
    return np.frombuffer(array.buffers()[1], kind, len(array), array.offset * kind.itemsize)
