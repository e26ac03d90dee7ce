"""Publications that a detector keeps, and the paths by which searches find them.

A publication is kept once (`Arrival`), with one `Match` for each leaf that it fills. A leaf files its matches in one
`AccessPath` for each way in which plans look for them: by the value in one of its slots, or all together.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from typing import NamedTuple

from broker_service.detection.slots import PartReader, Slot, Values
from broker_service.language import Value

Key = tuple[int, str]
"""Stamp and identifier of a publication: its identity here, and its place in the order within a detection."""


class Arrival:
    """A publication that arrived at the detector."""

    __slots__ = ("body", "key", "matches", "time")

    def __init__(self, key: Key, body: bytes, time: int) -> None:
        self.key = key
        self.body = body
        """Content as it travels."""
        self.time = time
        """Time of the arrival by the detector's clock, in nanoseconds."""
        self.matches: tuple[Match, ...] = ()
        """Matches of the publication in all composite subscriptions; empty when it is not kept."""

    @property
    def stamp(self) -> int:
        """Time of publication, in nanoseconds."""
        return self.key[0]

    @property
    def id(self) -> str:
        return self.key[1]


class Leaf:
    """A leaf of a pattern, with the indexes (access paths) of the publications that match it."""

    __slots__ = ("bound", "composite", "paths", "reader")

    def __init__(self, composite: str, reader: PartReader) -> None:
        self.composite = composite
        """Identifier of the composite subscription."""
        self.reader = reader
        self.bound = frozenset(reader.bound)
        self.paths: list[AccessPath] = []
        """Empty where no plan looks for matches of the leaf, because it fulfils the pattern by itself."""

    def path(self, slot: Slot | None) -> AccessPath:
        """The index of the leaf's matches by a variable's slot, or of all matches for None. Makes it if there is
        none."""
        for path in self.paths:
            if path.slot == slot:
                return path
        path = AccessPath(slot, 0 if slot is None else self.reader.slots.index(slot))
        self.paths.append(path)
        return path


class Match(NamedTuple):
    """A publication in a leaf of a pattern. Matches of one leaf are ordered by their keys, which all differ."""

    key: Key
    arrival: Arrival
    leaf: Leaf
    values: tuple[Value, ...]
    """Values for the slots of the leaf, in their order."""


class Bucket:
    """Matches in the order of their stamps. Those that are removed are nearly always the oldest."""

    __slots__ = ("_first", "_matches")

    def __init__(self, match: Match) -> None:
        self._matches = [match]
        self._first = 0
        """Place of the first match. Those before are removed together, since each removal moves all that follow."""

    def add(self, match: Match) -> None:
        matches = self._matches
        if matches[-1].key < match.key:
            matches.append(match)
        else:
            insort(matches, match, self._first)

    def remove(self, match: Match) -> bool:
        """Removes a match; returns True when none is left."""
        matches, first = self._matches, self._first
        place = first if matches[first] is match else bisect_left(matches, match, first)
        if place != first:
            del matches[place]
        elif (first + 1) * 8 >= len(matches):
            del matches[: first + 1]
            self._first = 0
        else:
            self._first = first + 1
        return not matches

    def between(self, earliest: int, latest: int) -> Sequence[Match]:
        """Matches whose stamps are in this interval, both ends included, in the order of their stamps."""
        matches, first, end = self._matches, self._first, len(self._matches)
        if matches[first].key[0] < earliest:
            first = bisect_left(matches, earliest, first, key=_stamp)
        if matches[-1].key[0] > latest:
            end = bisect_left(matches, latest + 1, first, key=_stamp)
        return matches[first:end]


def _stamp(match: Match) -> int:
    return match.key[0]


class AccessPath:
    """The matches of a leaf by one of their values, or all under the value None."""

    __slots__ = ("_matches", "_place", "slot")

    def __init__(self, slot: Slot | None, place: int) -> None:
        """`place` is that of the slot among those of the leaf."""
        self.slot = slot
        """Slot whose values tell matches apart; None where none does."""
        self._matches: dict[Value | None, Match | Bucket] = {}
        """A single match stands for itself, because most values of a variable occur once. No bucket is empty."""
        self._place = place

    def __bool__(self) -> bool:
        return bool(self._matches)

    def add(self, match: Match) -> None:
        value = None if self.slot is None else match.values[self._place]
        present = self._matches.get(value)
        if present is None:
            self._matches[value] = match
        elif isinstance(present, Bucket):
            present.add(match)
        else:
            bucket = self._matches[value] = Bucket(present)
            bucket.add(match)

    def remove(self, match: Match) -> None:
        value = None if self.slot is None else match.values[self._place]
        present = self._matches[value]
        if not isinstance(present, Bucket) or present.remove(match):
            del self._matches[value]

    def has(self, values: Values) -> bool:
        """True when some match agrees with these values of slots."""
        return (None if self.slot is None else values[self.slot]) in self._matches

    def between(self, values: Values, earliest: int, latest: int) -> Sequence[Match]:
        """Matches that agree with these values of slots, and whose stamps are in this interval, in their order."""
        present = self._matches.get(None if self.slot is None else values[self.slot])
        if present is None:
            return ()
        if isinstance(present, Bucket):
            return present.between(earliest, latest)
        return (present,) if earliest <= present.key[0] <= latest else ()
