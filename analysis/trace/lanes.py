"""The rows of a viewer, and everything on them in order of time.

A row can hold slices that follow each other, or lie in each other. Messages on a link overlap without that. So a track
gets as many rows as it has slices at a time, all under its name.

Order of what happens at one time: slices end, then the others begin, causes before their effects.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from analysis.trace.drawing import Counter, Drawing, Instant, Slice, Track


class Kind(IntEnum):
    """The kinds of marks."""

    BEGIN = 0
    END = 1
    INSTANT = 2
    COUNT = 3


@dataclass(frozen=True, slots=True, order=True)
class Row:
    """A row of the viewer."""

    track: Track
    lane: int
    """0 for the first row of its track."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A moment at which something begins, ends or happens in a row."""

    time: int
    kind: Kind
    row: Row
    name: str = ""
    of: Slice | Instant | None = None
    """The thing that begins or happens; None for a stretch inside of a slice, and for an end."""


def rows_of(drawing: Drawing) -> Mapping[int, Row]:
    """The row of each slice, by its place in the drawing."""
    order = sorted(range(len(drawing.slices)), key=lambda number: (drawing.slices[number].begin, number))
    free: defaultdict[Track, list[tuple[int, int]]] = defaultdict(list)
    """The lanes of each track: the time at which a lane is free, and its number."""
    rows: dict[int, Row] = {}
    for number in order:
        drawn = drawing.slices[number]
        lanes = free[drawn.track]
        open_lane = heapq.heappop(lanes)[1] if lanes and lanes[0][0] <= drawn.begin else len(lanes)
        heapq.heappush(lanes, (drawn.end, open_lane))
        rows[number] = Row(drawn.track, open_lane)
    return rows


def marks_of(drawing: Drawing, rows: Mapping[int, Row]) -> list[Mark]:
    """The marks of slices and instants, in order of time."""
    keyed: list[tuple[tuple[int, int, int, int], Mark]] = []
    for number, drawn in enumerate(drawing.slices):
        row = rows[number]
        lasting = drawn.end > drawn.begin
        keyed.append(((drawn.begin, 1, number, 0), Mark(drawn.begin, Kind.BEGIN, row, drawn.name, drawn)))
        for place, (begin, end, name) in enumerate(drawn.inner, 1):
            keyed.append(((begin, 1, number, place), Mark(begin, Kind.BEGIN, row, name)))
            keyed.append(((end, 0, -number, -place), Mark(end, Kind.END, row)))
        ending = (drawn.end, 0, -number, 0) if lasting else (drawn.end, 1, number, len(drawn.inner) + 1)
        keyed.append((ending, Mark(drawn.end, Kind.END, row)))
    for number, instant in enumerate(drawing.instants, len(drawing.slices)):
        mark = Mark(instant.time, Kind.INSTANT, Row(instant.track, 0), instant.name, instant)
        keyed.append(((instant.time, 1, number, 0), mark))
    return [mark for _, mark in sorted(keyed, key=lambda pair: pair[0])]


def used_rows(marks: Iterable[Mark]) -> Sequence[Row]:
    """The rows on which there is anything, in order."""
    return sorted({mark.row for mark in marks})


def counters_in_order(counters: Iterable[Counter]) -> Sequence[Counter]:
    """Counters by process and name."""
    return sorted(counters, key=lambda counter: (counter.process, counter.name))
