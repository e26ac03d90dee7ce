"""Arrays between Arrow and NumPy, without Arrow's own conversions, which load pandas wherever that is installed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def numbers_of(column: pa.ChunkedArray) -> NDArray[Any]:
    """The integers of a column without nulls."""
    kind = np.dtype(str(column.type))
    chunks = [np.frombuffer(c.buffers()[1], kind, len(c), c.offset * kind.itemsize) for c in column.chunks if len(c)]
    return np.concatenate(chunks) if chunks else np.empty(0, kind)


def integers(numbers: Sequence[int] | NDArray[Any], kind: pa.DataType) -> pa.Array:
    """Numbers as an array of integers."""
    values = np.array(numbers, str(kind))
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(values)])


def binaries(values: Sequence[bytes]) -> pa.Array:
    """Bytes as an array. Raises `OverflowError` for 2 GB and more together."""
    offsets = np.cumsum([0, *map(len, values)], dtype=np.int64)
    if offsets[-1] >= 1 << 31:
        raise OverflowError(f"{offsets[-1]} bytes are too many for one array")
    buffers = [None, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(b"".join(values))]
    return pa.Array.from_buffers(pa.binary(), len(values), buffers)
