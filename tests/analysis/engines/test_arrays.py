"""Arrays made without Arrow's own conversions are what those would make."""

from __future__ import annotations

from unittest.mock import MagicMock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.engines.arrays import binaries, integers, numbers_of

KINDS = pa.int32(), pa.int64()


@given(st.lists(st.lists(st.integers(-(2**31), 2**31 - 1), max_size=4), max_size=4), st.sampled_from(KINDS))
def test_integers(chunks: list[list[int]], kind: pa.DataType) -> None:
    whole = pa.chunked_array([pa.array([7, *chunk], kind) for chunk in chunks], kind)
    sliced = pa.chunked_array([chunk.slice(1) for chunk in whole.chunks], kind)
    assert numbers_of(sliced).tolist() == sliced.to_pylist()
    assert integers(numbers_of(sliced), kind).equals(sliced.combine_chunks())
    assert numbers_of(sliced).dtype == np.dtype(str(kind))


@given(st.lists(st.binary(max_size=5)))
def test_binaries(values: list[bytes]) -> None:
    made = binaries(values)
    made.validate(full=True)
    assert made.equals(pa.array(values, pa.binary()))


def test_more_bytes_than_an_array_holds_are_refused() -> None:
    half = MagicMock()
    half.__len__.return_value = 1 << 30
    with pytest.raises(OverflowError, match="2147483648 bytes"):
        binaries([half, half])
