"""Columns: the contents of many publications by attribute, numbers and strings apart.

The contents are sorted by *form*, the names of their attributes with the types of the values, because those of one form
are turned into columns at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np
from numpy.typing import NDArray

from analysis.judging.language.bits import Numbers
from analysis.judging.language.scales import MAX_EXACT, Doubles
from analysis.judging.language.values import check_content, check_value, reason_outside
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


@dataclass(slots=True)
class _Form:
    """The publications with the same names and types."""

    rows: list[int] = field(default_factory=list)
    values: list[Iterable[Value]] = field(default_factory=list)


class Columns:
    """The contents of publications 0, 1, ... in columns."""

    def __init__(self, contents: Sequence[Mapping[str, Value]]) -> None:
        self.size = len(contents)
        self.names: list[Names] = [tuple(content) for content in contents]
        self.outside: set[int] = set()
        """The publications whose content is outside the language."""
        forms: dict[tuple[Names, tuple[type, ...]], _Form] = {}
        for row, content in enumerate(contents):
            key = self.names[row], tuple(map(type, content.values()))
            form = forms.get(key)
            if form is None:
                form = forms[key] = _Form()
            form.rows.append(row)
            form.values.append(content.values())
        numbers: dict[str, list[NumberColumn]] = {}
        strings: dict[str, list[StringColumn]] = {}
        for (names, types), form in forms.items():
            if _is_outside(names, types):
                self.outside.update(form.rows)
            rows = np.array(form.rows, dtype=np.int64)
            for name, kind, values in zip(names, types, zip(*form.values, strict=True), strict=True):
                if kind is str:
                    strings.setdefault(name, []).append(StringColumn(rows, cast(tuple[str, ...], values)))
                else:
                    numbers.setdefault(name, []).append(_number_column(rows, cast(tuple[float, ...], values)))
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


def _is_outside(names: Names, types: tuple[type, ...]) -> bool:
    """True when no content of this form is in the language, whatever its values."""
    samples = dict(zip(names, ("" if kind is str else 0 for kind in types), strict=True))
    return reason_outside(check_content, samples) is not None


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
