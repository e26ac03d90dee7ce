"""Columns: the contents of many publications by attribute, numbers and strings apart.

The contents are sorted by the names of their attributes, because those with the same names are turned into columns at
once: for each name the values of all rows, divided by type where there are several.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from analysis.judging.language.bits import Numbers
from analysis.judging.language.scales import MAX_EXACT, Doubles
from analysis.judging.language.values import CLASS, check_content, check_value, reason_outside
from analysis.reading.publication_events import Value

Names = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NumberColumn:
    """The publications that have a number for one attribute."""

    rows: Numbers
    """The numbers of the publications."""
    doubles: Doubles
    """The values; of those in `exact`, some other number."""
    exact: Sequence[tuple[int, int]]
    """Values beyond 2**53, which a double may not stand for, each with its index in `rows`."""

    @property
    def outside(self) -> Iterator[int]:
        """The publications with a number that is outside the language."""
        yield from self.rows[~np.isfinite(self.doubles)].tolist()
        yield from (int(self.rows[index]) for index, value in self.exact if reason_outside(check_value, value))


@dataclass(frozen=True, slots=True)
class StringColumn:
    """The publications that have a string for one attribute."""

    rows: Numbers
    strings: Sequence[str]

    @property
    def outside(self) -> Iterator[int]:
        """The publications with a string that is outside the language."""
        for index, text in enumerate(self.strings):
            if not text.isascii() and reason_outside(check_value, text):
                yield int(self.rows[index])


class Columns:
    """The contents of publications 0, 1, ... in columns."""

    def __init__(self, contents: Sequence[Mapping[str, Value]]) -> None:
        self.size = len(contents)
        self.names: list[Names] = [tuple(content) for content in contents]
        self.outside: set[int] = set()
        """The publications whose content is outside the language."""
        alike: dict[Names, list[int]] = {}
        for row, names in enumerate(self.names):
            alike.setdefault(names, []).append(row)
        numbers: dict[str, list[NumberColumn]] = {}
        strings: dict[str, list[StringColumn]] = {}
        for names, rows in alike.items():
            if reason_outside(check_content, dict.fromkeys(names, "")):
                self.outside.update(rows)
            within = np.array(rows, dtype=np.int64)
            for name in names:
                for kind, of_kind, values in _by_type(within, [contents[row][name] for row in rows]):
                    if kind is str:
                        strings.setdefault(name, []).append(StringColumn(of_kind, cast(Sequence[str], values)))
                        continue
                    numbers.setdefault(name, []).append(_number_column(of_kind, cast(Sequence[float], values)))
                    if name == CLASS:
                        self.outside.update(of_kind.tolist())
        self.numbers = {name: _one_of_numbers(parts) for name, parts in numbers.items()}
        self.strings = {name: _one_of_strings(parts) for name, parts in strings.items()}
        for of_numbers in self.numbers.values():
            self.outside.update(of_numbers.outside)
        for of_strings in self.strings.values():
            self.outside.update(of_strings.outside)

    def absent(self, attribute: str) -> NDArray[np.bool_]:
        """True for each publication that lacks the attribute."""
        found = np.ones(self.size, dtype=np.bool_)
        for column in (self.numbers.get(attribute), self.strings.get(attribute)):
            if column is not None:
                found[column.rows] = False
        return found


def _by_type(rows: Numbers, values: Sequence[Value]) -> Iterator[tuple[type, Numbers, Sequence[Value]]]:
    """The values of each type that occurs, with their rows."""
    types = list(map(type, values))
    different = set(types)
    if len(different) == 1:
        yield types[0], rows, values
        return
    for kind in sorted(different, key=types.index):
        places = [place for place, other in enumerate(types) if other is kind]
        yield kind, rows[places], [values[place] for place in places]


def _number_column(rows: Numbers, values: Sequence[int | float]) -> NumberColumn:
    """The column of numbers of one type."""
    if isinstance(values[0], float):
        return NumberColumn(rows, np.array(values, dtype=np.float64), ())
    exact = [(index, int(value)) for index, value in enumerate(values) if not -MAX_EXACT <= value <= MAX_EXACT]
    if exact:
        values = list(values)
        for index, _ in exact:
            values[index] = 0
    return NumberColumn(rows, np.array(values, dtype=np.float64), exact)


def _one_of_numbers(parts: Sequence[NumberColumn]) -> NumberColumn:
    if len(parts) == 1:
        return parts[0]
    exact: list[tuple[int, int]] = []
    before = 0
    for part in parts:
        exact += [(before + index, value) for index, value in part.exact]
        before += len(part.rows)
    rows = np.concatenate([part.rows for part in parts])
    return NumberColumn(rows, np.concatenate([part.doubles for part in parts]), exact)


def _one_of_strings(parts: Sequence[StringColumn]) -> StringColumn:
    if len(parts) == 1:
        return parts[0]
    return StringColumn(
        np.concatenate([part.rows for part in parts]), [string for part in parts for string in part.strings]
    )
