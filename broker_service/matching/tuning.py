"""Sizes at which the index changes its data structures. They affect speed and memory, never the matches."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tuning:
    """Sizes in members of one bucket, rows and columns.

    A vectorised pass over a bucket costs about 8 us however small the bucket, a subscription tried by itself about
    1 us: hence `vectorise_from`. NumPy itself costs a process 13 MB and 50 ms: hence `load_numpy_from`.
    """

    vectorise_from: int = 8
    """A bucket of more members than this switches to arrays when the process has NumPy loaded."""
    load_numpy_from: int = 64
    """A bucket of more members than this switches to arrays when NumPy must be loaded first."""
    block_rows: int = 4_096
    """A block of this many rows is divided in two."""
    block_columns: int = 16
    """Attributes with columns of their own in a block; predicates on further attributes are tried one by one."""
