"""The rows of one variant in a table of a run, which are read when a measure first needs them.

A run of many variants has a million notifications, and most measures need those of a few variants, or none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar, overload

import msgspec

from analysis.tables.results import read_partition

_Row = TypeVar("_Row", bound=msgspec.Struct)


class StoredRows(Sequence[_Row]):
    """The rows of one variant in one table, read when they are first needed. Reading raises `RunDirectoryError` as
    `read_table` does."""

    def __init__(self, results: Path, row: type[_Row], variant: str, chosen: Callable[[_Row], bool]) -> None:
        """The rows of a variant for which `chosen` is true."""
        self._results = results
        self._row = row
        self._variant = variant
        self._chosen = chosen
        self._read: tuple[_Row, ...] | None = None

    def __len__(self) -> int:
        return len(self._rows())

    def __iter__(self) -> Iterator[_Row]:
        return iter(self._rows())

    @overload
    def __getitem__(self, index: int) -> _Row: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[_Row]: ...
    def __getitem__(self, index: int | slice) -> _Row | Sequence[_Row]:
        return self._rows()[index]

    def _rows(self) -> tuple[_Row, ...]:
        if self._read is None:
            self._read = tuple(filter(self._chosen, read_partition(self._results, self._row, self._variant)))
        return self._read
