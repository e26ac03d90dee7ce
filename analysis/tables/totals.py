"""Tallies: what stages count. A stage returns all rows of one as a single binary value, and rows with the same key
become one, in whichever order.

A row is a struct. Its fields that are annotated with a function of two values, such as those of the types below, are
counts, which the function makes one of; they have defaults. All other fields come before them and are its key.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from functools import cache
from operator import add
from sys import intern
from types import GenericAlias
from typing import Annotated, Any, Generic, Protocol, TypeVar, get_origin, get_type_hints

import msgspec
import pyarrow as pa

from analysis.engines.arrays import array_of


def largest_known(one: int | None, other: int | None) -> int | None:
    """The larger of two numbers, either of which may be unknown (None)."""
    return max((number for number in (one, other) if number is not None), default=None)


Sum = Annotated[int, add]
"""A field of which totals take the sum. The sum within one tally must fit into 64 bits; a total of tallies need not."""
Largest = Annotated[int, max]
Least = Annotated[int, min]
LargestKnown = Annotated[int | None, largest_known]

Fields = tuple[str, ...]
_Key = tuple[Any, ...]
_Named = TypeVar("_Named", bound=_Key)
_Row = TypeVar("_Row", bound=msgspec.Struct)
_Listed = TypeVar("_Listed")
_OfKey = TypeVar("_OfKey", bound=tuple[Any, ...])


def with_shared_texts(key: _Named) -> _Named:
    """A named tuple that has one object for equal texts of all keys, because tallies that are read have many keys and
    few texts, each of which was made anew."""
    return type(key)(*[intern(part) if type(part) is str else part for part in key])


class Rows(Generic[_Row]):
    """Rows of one type, one for each key."""

    def __init__(self, row: type[_Row], keys: Fields = ()) -> None:
        """`keys` are the fields of the key; by default all fields that are no counts."""
        self.row = row
        self._counts = _counts(row)
        self._keys = keys or tuple(name for name in row.__struct_fields__ if name not in self._counts)
        self._rows: dict[_Key, _Row] = {}

    def of(self, *key: object) -> _Row:
        """The row with this key, whose counts the caller may change. Makes the row if there is none."""
        found = self._rows.get(key)
        if found is None:
            found = self._rows[key] = self.row(*key)
        return found

    def add(self, row: _Row) -> None:
        """Adds another row's counts to those of its key."""
        key = _key(row, self._keys)
        known = self._rows.get(key)
        if known is None:
            for name, part in zip(self._keys, key, strict=True):
                if type(part) is str:
                    msgspec.structs.force_setattr(row, name, intern(part))
            self._rows[_key(row, self._keys)] = row
        else:
            for name, total in self._counts.items():
                setattr(known, name, total(getattr(known, name), getattr(row, name)))

    def __iter__(self) -> Iterator[_Row]:
        """The rows in the order of their keys."""
        return (self._rows[key] for key in sorted(self._rows))


class FirstRows(Generic[_Row]):
    """The first rows of each group, up to a number."""

    def __init__(self, row: type[_Row], most: int, group: Fields, rank: Fields) -> None:
        """Keeps `most` rows of each group. Rows with equal `group` fields are one group, sorted by their `rank`
        fields."""
        self.row = row
        self._most = most
        self._group, self._rank = group, rank
        self._groups: dict[_Key, dict[_Key, _Row]] = {}

    def takes(self, group: _Key, rank: _Key) -> bool:
        """True while a row of this rank would be among the first."""
        kept = self._groups.get(group, {})
        return len(kept) < self._most or rank < max(kept)

    def add(self, row: _Row) -> None:
        """Keeps a row if it is one of the first."""
        kept = self._groups.setdefault(_key(row, self._group), {})
        kept[_key(row, self._rank)] = row
        if len(kept) > self._most:
            del kept[max(kept)]

    def __iter__(self) -> Iterator[_Row]:
        """The rows in the order of groups and ranks."""
        return (self._groups[group][rank] for group in sorted(self._groups) for rank in sorted(self._groups[group]))


class Listed(list[_Listed]):
    """Rows without a key, in any order."""

    def __init__(self, row: type[_Listed]) -> None:
        super().__init__()
        self.row = row

    def add(self, row: _Listed) -> None:
        self.append(row)


class Numbers(msgspec.Struct, Generic[_OfKey]):
    """Numbers under one key."""

    key: _OfKey
    numbers: bytes
    """Eight bytes for each."""


class Series(Generic[_OfKey]):
    """Numbers at eight bytes each, in a row for each key. The rows of several tallies become one, in any order."""

    def __init__(self, key: type[_OfKey]) -> None:
        """`key` is a named tuple."""
        self.row = Numbers[key]  # type: ignore[valid-type]
        self.by_key: dict[_OfKey, array[int]] = {}

    def of(self, key: _OfKey) -> array[int]:
        """The numbers under this key, to be added to. Some are made where there are none."""
        found = self.by_key.get(key)
        if found is None:
            found = self.by_key[key] = array("q")
        return found

    def add(self, row: Numbers[_OfKey]) -> None:
        found = self.by_key.get(row.key)
        if found is None:
            found = self.by_key[with_shared_texts(row.key)] = array("q")
        found.frombytes(row.numbers)

    def __iter__(self) -> Iterator[Numbers[_OfKey]]:
        return (Numbers(key, numbers.tobytes()) for key, numbers in self.by_key.items())


class Kept(Protocol):
    """A field of a tally."""

    row: type[Any]
    """Type of the rows that it becomes, and is made of."""

    def add(self, row: Any, /) -> None:
        """Adds a row of another tally."""

    def __iter__(self) -> Iterator[Any]:
        """The rows that it becomes."""


class Tally:
    """The base of a tally, a dataclass whose fields are `Kept` and other tallies."""

    def schema(self) -> pa.Schema:
        """The column of this kind of tallies."""
        return pa.schema([(type(self).__name__, pa.binary())])

    def table(self) -> pa.Table:
        """All rows, as one row of a table with this schema. Raises `OverflowError` for counts of more than 64 bits."""
        encoded = msgspec.msgpack.encode([list(kept) for kept in self._kept()])
        return pa.Table.from_arrays([array_of([encoded], pa.binary())], schema=self.schema())

    def merge(self, table: pa.Table) -> None:
        """Adds the rows of other tallies of this kind, from a table that has at least this column."""
        everything = [*self._kept()]
        rows_of_each: Any = tuple(kept.row for kept in everything)
        for encoded in table.column(type(self).__name__).to_pylist():
            for kept, rows in zip(everything, _decoder(rows_of_each).decode(encoded), strict=True):
                for row in rows:
                    kept.add(row)

    def _kept(self) -> Iterator[Kept]:
        for own in fields(self):  # type: ignore[arg-type]
            part = getattr(self, own.name)
            if isinstance(part, Tally):
                yield from part._kept()
            else:
                yield part


@cache
def _decoder(rows: tuple[Any, ...]) -> msgspec.msgpack.Decoder[Any]:
    """The decoder of lists of rows of these types."""
    return msgspec.msgpack.Decoder(GenericAlias(tuple, tuple(GenericAlias(list, (row,)) for row in rows)))


def _key(row: msgspec.Struct, names: Fields) -> _Key:
    return tuple(getattr(row, name) for name in names)


@cache
def _counts(row: type[msgspec.Struct]) -> Mapping[str, Callable[[Any, Any], Any]]:
    """The function of each count."""
    hints = get_type_hints(row, include_extras=True)
    return {name: kind.__metadata__[0] for name, kind in hints.items() if get_origin(kind) is Annotated}
