"""Rows of bits: one bit for each publication of a chunk, 64 to a word, the first in the lowest bit."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
Numbers = NDArray[np.int64]

BITS: Final = 64
"""Bits of a word."""


def words_for(size: int) -> int:
    """The number of words that hold so many bits."""
    return -(-size // BITS)


def row_of(truths: NDArray[np.bool_]) -> Words:
    """The row, or for a matrix the rows, of these truths."""
    size = truths.shape[-1]
    padded = np.zeros((*truths.shape[:-1], words_for(size) * BITS), dtype=np.bool_)
    padded[..., :size] = truths
    return np.packbits(padded, axis=-1, bitorder="little").view(np.uint64)


def prefix_rows(order: Numbers, words: int) -> Words:
    """Row k has the bits of the first k publications of an order; there is one row more than publications."""
    rows = np.zeros((len(order) + 1, words), dtype=np.uint64)
    rows[np.arange(1, len(order) + 1), order // BITS] = np.uint64(1) << (order % BITS).astype(np.uint64)
    return np.bitwise_or.accumulate(rows, axis=0, out=rows)


def set_bits(words: Words) -> tuple[Numbers, Numbers]:
    """The set bits of a column of words as (bit, place of the word), in the order of bits, then of words."""
    filled = np.flatnonzero(words)
    bits = np.unpackbits(words[filled].view(np.uint8), bitorder="little").reshape(-1, BITS)
    found = np.flatnonzero(np.ascontiguousarray(bits.T).view(np.bool_))
    bit, place = np.divmod(found, max(len(filled), 1))
    return bit, filled[place]
