"""Arrays made without Arrow's own conversions are what those would make."""

from __future__ import annotations

from dataclasses import dataclass
from unittest.mock import MagicMock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.engines.arrays import (
    array_of,
    elements_of,
    gathered_lists,
    integers,
    lengths_of,
    lists,
    numbers_of,
    row_of,
    rows_in,
)

KINDS = pa.int32(), pa.int64()


@given(st.lists(st.lists(st.integers(-(2**31), 2**31 - 1), max_size=4), max_size=4), st.sampled_from(KINDS))
def test_integers(chunks: list[list[int]], kind: pa.DataType) -> None:
    whole = pa.chunked_array([pa.array([7, *chunk], kind) for chunk in chunks], kind)
    sliced = pa.chunked_array([chunk.slice(1) for chunk in whole.chunks], kind)
    assert numbers_of(sliced).tolist() == sliced.to_pylist()
    assert integers(numbers_of(sliced), kind).equals(sliced.combine_chunks())
    assert numbers_of(sliced).dtype == np.dtype(str(kind))


@given(st.lists(st.lists(st.lists(st.integers(0, 9), max_size=3), max_size=3), max_size=3))
def test_lists(chunks: list[list[list[int]]]) -> None:
    kind = pa.list_(pa.int64())
    made = [lists(pa.array(sum(chunk, [7]), pa.int64()), [1, *map(len, chunk)]) for chunk in chunks]
    sliced = pa.chunked_array([chunk.slice(1) for chunk in made], kind)
    found = [one for chunk in chunks for one in chunk]
    assert sliced.to_pylist() == found
    assert lengths_of(sliced).tolist() == [len(one) for one in found]
    assert elements_of(sliced).to_pylist() == [number for one in found for number in one]


def test_rows_in_lists() -> None:
    table = pa.table({"number": [1, 2], "name": ["a", None]})
    once = row_of(table)
    assert once.to_pylist() == [table.to_pylist()]
    none = row_of(table.slice(2))
    twice = pa.chunked_array([once, none, pa.concat_arrays([none, once]).slice(1)])
    assert rows_in(twice).to_pylist() == table.to_pylist() * 2
    assert rows_in(pa.chunked_array([], once.type)).schema == table.schema


@dataclass
class _Pair:
    first: int | None
    second: list[str | None]


PAIRS = pa.struct([("first", pa.int64()), ("second", pa.list_(pa.string()))])
VALUES = [
    (st.integers(-(2**63), 2**63 - 1), pa.int64()),
    (st.floats(allow_nan=False), pa.float64()),
    (st.booleans(), pa.bool_()),
    (st.text(max_size=4), pa.string()),
    (st.binary(max_size=4), pa.binary()),
    (st.lists(st.none() | st.integers(0, 9), max_size=3), pa.list_(pa.int64())),
]


@pytest.mark.parametrize(("value", "kind"), VALUES, ids=lambda of: str(of) if isinstance(of, pa.DataType) else "")
@given(data=st.data())
def test_values(value: st.SearchStrategy[object], kind: pa.DataType, data: st.DataObject) -> None:
    values = data.draw(st.lists(st.none() | value, max_size=20))
    made = array_of(values, kind)
    made.validate(full=True)
    assert made.equals(pa.array(values, kind))


@given(st.lists(st.none() | st.builds(_Pair, st.none() | st.integers(0, 9), st.lists(st.none() | st.text("aü")))))
def test_objects(values: list[_Pair | None]) -> None:
    made = array_of(values, PAIRS)
    made.validate(full=True)
    assert made.equals(pa.array([None if value is None else vars(value) for value in values], PAIRS))


def test_more_bytes_than_an_array_holds_are_refused() -> None:
    half = MagicMock()
    half.__len__.return_value = 1 << 30
    with pytest.raises(OverflowError, match="2147483648 elements or bytes"):
        array_of([half, half], pa.binary())


@given(st.lists(st.lists(st.tuples(st.integers(0, 3), st.integers(-(2**63), 2**63 - 1)), min_size=1, max_size=5)))
def test_pieces_are_gathered_by_key_in_their_order(pieces: list[list[tuple[int, int]]]) -> None:
    schema = pa.schema([("bucket", pa.int32()), ("others", pa.list_(pa.int64())), ("rows", pa.list_(pa.int64()))])
    expected: dict[int, list[int]] = {}
    for key, number in (row for piece in pieces for row in piece):
        expected.setdefault(key, []).extend((key, number))
    keys = np.array([key for piece in pieces for key, _ in piece], dtype=np.int64)
    given_up = [np.array(piece, dtype=np.int64) for piece in pieces]
    found = gathered_lists(schema, "rows", keys, given_up).to_pylist()
    assert found == [{"bucket": key, "others": [], "rows": rows} for key, rows in sorted(expected.items())]
    assert not given_up
