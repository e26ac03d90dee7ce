"""Sets of positions as ranges: many neighbouring positions take the room of one."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator

Range = tuple[int, int]
"""Positions from the first number up to, and without, the second."""


class RangeSet:
    """Positions, kept as ranges that neither overlap nor touch."""

    def __init__(self, ranges: Iterable[Range] = ()) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        for start, end in ranges:
            self.add(start, end)

    def __iter__(self) -> Iterator[Range]:
        return zip(self._starts, self._ends, strict=True)

    def __bool__(self) -> bool:
        return bool(self._starts)

    def __contains__(self, position: int) -> bool:
        place = bisect_right(self._starts, position) - 1
        return place >= 0 and position < self._ends[place]

    @property
    def count(self) -> int:
        """Number of ranges."""
        return len(self._starts)

    def add(self, start: int, end: int) -> None:
        """Adds the positions of a range; an empty one changes nothing."""
        if start >= end:
            return
        starts, ends = self._starts, self._ends
        if ends and ends[-1] == start:  # as nearly always, because positions come in their order
            ends[-1] = end
            return
        first = bisect_right(ends, start - 1)
        last = bisect_right(starts, end)
        if first < last:
            start, end = min(start, starts[first]), max(end, ends[last - 1])
        starts[first:last] = [start]
        ends[first:last] = [end]

    def include(self, position: int) -> bool:
        """Adds a position; false when it was in the set."""
        ends = self._ends
        if ends and ends[-1] == position:  # as nearly always, because positions come in their order
            ends[-1] = position + 1
            return True
        if position in self:
            return False
        self.add(position, position + 1)
        return True

    def remove(self, start: int, end: int) -> None:
        """Removes the positions of a range; an empty one changes nothing."""
        starts, ends = self._starts, self._ends
        first, last = bisect_right(ends, start), bisect_left(starts, end)
        if start >= end or first >= last:
            return
        kept = [(starts[first], start), (end, ends[last - 1])]
        rest = [(begin, behind) for begin, behind in kept if begin < behind]
        starts[first:last] = [begin for begin, _ in rest]
        ends[first:last] = [behind for _, behind in rest]

    def start_of(self, position: int) -> int:
        """The first of the positions that lead without a gap to a position, which counts as present."""
        if not self._ends or self._ends[-1] < position:
            return position
        place = bisect_right(self._starts, position - 1) - 1
        return self._starts[place] if place >= 0 and self._ends[place] >= position else position

    def end_of(self, position: int) -> int:
        """The position behind those that follow without a gap from this one; the position itself when it is absent."""
        place = bisect_right(self._starts, position) - 1
        return max(position, self._ends[place]) if place >= 0 else position

    def within(self, start: int, end: int) -> list[Range]:
        """The parts of ranges that lie in a range."""
        place = bisect_right(self._ends, start)
        found = []
        while place < len(self._starts) and self._starts[place] < end:
            found.append((max(start, self._starts[place]), min(end, self._ends[place])))
            place += 1
        return found

    def touching(self, start: int, end: int) -> list[Range]:
        """The ranges that have positions of a range, whole."""
        first, last = bisect_right(self._ends, start), bisect_left(self._starts, end)
        return list(zip(self._starts[first:last], self._ends[first:last], strict=True))

    def absent(self, start: int, end: int) -> list[Range]:
        """The parts of a range that are not in the set."""
        found = []
        for present, behind in self.within(start, end):
            if start < present:
                found.append((start, present))
            start = behind
        if start < end:
            found.append((start, end))
        return found

    def forget_below(self, position: int) -> None:
        """Removes all positions below one."""
        if not self._starts or self._starts[0] >= position:
            return
        place = bisect_right(self._ends, position)
        del self._starts[:place], self._ends[:place]
        if self._starts and self._starts[0] < position:
            self._starts[0] = position
