"""The rows of one bucket: the messages that some brokers received, and the sending of those that came over links."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from analysis.engines.arrays import elements_of, lengths_of, numbers_of, rows_in
from analysis.reading.hop_events import HopColumn, HopPlace
from analysis.reading.publication_events import UNKNOWN
from analysis.tables.rows import rows_of
from record.log import Event

Numbers = NDArray[np.int64]


class Direction(NamedTuple):
    """One direction of a link in one variant."""

    variant: int
    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Hops:
    """Messages that were sent and arrived, in the order of writing. Times in nanoseconds."""

    left: Numbers
    """Left the output queue."""
    written: Numbers
    arrived: Numbers
    turn: Numbers
    """Had its turn at the receiver."""
    bytes: Numbers

    def __len__(self) -> int:
        return len(self.left)


@dataclass(frozen=True, slots=True)
class Turns:
    """Messages that one broker received, of neighbours and clients, in the order of their turns."""

    time: Numbers
    arrived: Numbers
    """`UNKNOWN` for messages of clients."""
    kind: Numbers
    """The number of the kind in `kinds`."""
    kinds: tuple[str, ...]
    source: Numbers
    """The number of the neighbour or client group that it came from."""

    def __len__(self) -> int:
        return len(self.time)


class HopTable:
    """The messages of one bucket, by direction and by broker."""

    def __init__(self, blocks: pa.Table) -> None:
        """`blocks` are rows of `HOP_BLOCKS`, in any order."""
        self.places = rows_of(rows_in(blocks.column("places")), HopPlace)
        places, lengths = lengths_of(blocks.column("places")), lengths_of(blocks.column("place"))
        place = numbers_of(elements_of(blocks.column("place"))) + np.repeat(np.cumsum(places) - places, lengths)
        order = np.argsort(place, kind="stable")
        self._rows = np.empty((len(place), len(HopColumn)), dtype=np.int64, order="F")
        """In the order of their places."""
        for column in HopColumn:
            numbers = (
                place if column is HopColumn.PLACE else numbers_of(elements_of(blocks.column(column.name.lower())))
            )
            self._rows[:, column] = numbers[order]
        self._ends = np.cumsum(np.bincount(place, minlength=len(self.places)))

    def directions(self) -> Iterator[tuple[Direction, Numbers, Numbers]]:
        """Each direction with the rows of its sending and those of its arrivals."""
        sent, received = self._by_direction()
        for direction in sorted(sent.keys() | received.keys()):
            yield direction, self._together(sent.get(direction, ())), self._together(received.get(direction, ()))

    def pieces(self, rows: int) -> Iterator[tuple[int, Numbers]]:
        """A variant and all rows of some receivers in it: of as few as make so many rows, so that memory does not grow
        with the number of receivers."""
        of_receiver: dict[tuple[int, str], list[int]] = {}
        for number, place in enumerate(self.places):
            if place.access:
                continue
            of_receiver.setdefault((place.variant, place.receiver), []).append(number)
        for variant, receivers in groupby(sorted(of_receiver.items()), lambda item: item[0][0]):
            piece, length = list[int](), 0
            for _, places in receivers:
                piece += places
                length += sum(len(self._of(place)) for place in places)
                if length >= rows:
                    yield variant, self._together(piece)
                    piece, length = [], 0
            if piece:
                yield variant, self._together(piece)

    def brokers(self) -> Iterator[tuple[int, str, Turns]]:
        """Variant, name and turns of each receiving broker."""
        by_broker: dict[tuple[int, str], list[int]] = {}
        for number, place in enumerate(self.places):
            if place.event is Event.RECEIVED and not place.access:
                by_broker.setdefault((place.variant, place.node), []).append(number)
        for (variant, broker), numbers in sorted(by_broker.items()):
            yield variant, broker, self._turns(numbers)

    def _of(self, place: int) -> Numbers:
        end = int(self._ends[place])
        return self._rows[int(self._ends[place - 1]) if place else 0 : end]

    def _together(self, places: Sequence[int]) -> Numbers:
        """The rows of places, one place after another."""
        return np.concatenate([self._rows[:0], *map(self._of, places)])

    def _by_direction(self) -> tuple[Mapping[Direction, Sequence[int]], Mapping[Direction, Sequence[int]]]:
        """The places of sending and of arrivals in each direction."""
        sent: dict[Direction, list[int]] = {}
        received: dict[Direction, list[int]] = {}
        for number, place in enumerate(self.places):
            if place.peer is None:
                continue
            if place.event is Event.SENT:
                sent.setdefault(Direction(place.variant, place.node, place.peer), []).append(number)
            else:
                received.setdefault(Direction(place.variant, place.peer, place.node), []).append(number)
        return sent, received

    def _turns(self, places: list[int]) -> Turns:
        kinds: dict[str, int] = {}
        sources: dict[str | None, int] = {}
        blocks = []
        for number in places:
            place, rows = self.places[number], self._of(number)
            kind = kinds.setdefault(place.kind, len(kinds))
            source = sources.setdefault(place.peer, len(sources))
            time, link_time = rows[:, HopColumn.TIME], rows[:, HopColumn.LINK_TIME]
            arrived = np.where(link_time == UNKNOWN, time, link_time)
            if place.peer is None:
                arrived = np.full_like(time, UNKNOWN)
            blocks.append(np.column_stack((time, arrived, np.full_like(time, kind), np.full_like(time, source))))
        rows = np.concatenate(blocks)
        rows = rows[np.argsort(rows[:, 0], kind="stable")]
        return Turns(rows[:, 0], rows[:, 1], rows[:, 2], tuple(kinds), rows[:, 3])


def paired(sent: Numbers, received: Numbers) -> Hops:
    """The messages of one direction that left and arrived, once each or equally often.

    A message that one log has more often than the other is left out: it was lost, repeated, or is in one log only.
    """
    sent, received = _equally_often(_numbered(sent), _numbered(received))
    written, arrived = _link_times(sent), _link_times(received)
    order = np.lexsort((arrived, written))
    return Hops(
        sent[order, HopColumn.TIME],
        written[order],
        arrived[order],
        received[order, HopColumn.TIME],
        received[order, HopColumn.BYTES],
    )


def _numbered(rows: Numbers) -> Numbers:
    """The rows in the order of their messages, those of one message in the order of time."""
    return rows[np.lexsort((rows[:, HopColumn.TIME], rows[:, HopColumn.MESSAGE]))]


def _equally_often(sent: Numbers, received: Numbers) -> tuple[Numbers, Numbers]:
    """The rows of messages that are in both equally often; both are in the order of messages."""
    left, left_often = _counted(sent[:, HopColumn.MESSAGE])
    came, came_often = _counted(received[:, HopColumn.MESSAGE])
    if not len(left) or not len(came):
        return sent[:0], received[:0]
    places = np.minimum(np.searchsorted(came, left), len(came) - 1)
    in_both = (came[places] == left) & (came_often[places] == left_often)
    chosen = np.zeros(len(came), dtype=np.bool_)
    chosen[places[in_both]] = True
    return sent[np.repeat(in_both, left_often)], received[np.repeat(chosen, came_often)]


def _counted(ordered: Numbers) -> tuple[Numbers, Numbers]:
    """Each of some numbers in ascending order, and the number of times that it is there."""
    first = np.flatnonzero(np.diff(ordered, prepend=ordered[:1] - 1))
    return ordered[first], np.diff(first, append=len(ordered))


def _link_times(rows: Numbers) -> Numbers:
    link_time = rows[:, HopColumn.LINK_TIME]
    return np.where(link_time == UNKNOWN, rows[:, HopColumn.TIME], link_time)
