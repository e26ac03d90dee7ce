"""Structs as rows of Arrow tables, and back."""

from __future__ import annotations

import subprocess
import sys
from enum import IntEnum, StrEnum

import msgspec
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.engines.arrays import row_of, rows_in
from analysis.tables.rows import rows_of, table_of


class _Word(StrEnum):
    A = "a"
    B = "b"


class _Number(IntEnum):
    ONE = 1
    THREE = 3


class _Part(msgspec.Struct):
    whole: int
    share: float | None


class _Row(msgspec.Struct):
    number: int
    word: _Word
    code: _Number
    parts: list[_Part]
    names: tuple[str, ...]
    text: str | None = None


_WHOLE = st.integers(-(1 << 63), (1 << 63) - 1)
_PARTS = st.builds(_Part, _WHOLE, st.none() | st.floats(allow_nan=False, allow_infinity=False))
_ROWS = st.lists(
    st.builds(
        _Row,
        _WHOLE,
        st.sampled_from(_Word),
        st.sampled_from(_Number),
        st.lists(_PARTS, max_size=3),
        st.lists(st.text(max_size=5), max_size=3).map(tuple),
        st.none() | st.text(max_size=5),
    ),
    max_size=5,
)


@given(_ROWS)
def test_rows_come_back_as_they_were(rows: list[_Row]) -> None:
    table = table_of(rows, _Row)
    assert rows_of(table, _Row) == rows
    assert rows_of(rows_in(pa.chunked_array([row_of(table)])), _Row) == rows


def test_an_integer_of_more_than_64_bits_is_refused() -> None:
    with pytest.raises(OverflowError):
        table_of([_Part(1 << 63, None)], _Part)


def test_pandas_is_not_loaded() -> None:
    """It takes longer than the analysis of a small run."""
    program = (
        "import sys, msgspec\n"
        "from analysis.engines.arrays import row_of\n"
        "from analysis.tables.rows import rows_of, table_of\n"
        "class Row(msgspec.Struct):\n    number: int\n    names: list[str]\n"
        "row_of(table_of([Row(1, ['a'])], Row)), rows_of(table_of([], Row), Row)\n"
        "sys.exit('pandas' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
