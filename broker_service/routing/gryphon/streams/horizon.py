"""The horizon of a leaf in a stream: below it, everything is known and clients have been notified (section 3.6).

1. A leaf follows a stream once some vector has the start of one of its subscriptions. It begins right behind the
   positions that it has acknowledged, because publications with such a vector may have been lost before the one that
   arrived. Positions that it was sent and did not want count as silent.
2. A position is unknown, silent or a publication. Publications are processed in order, when nothing before them is
   unknown, and each once. At that moment a subscription has started if the vector has its start time.
3. A publication that does not fit in the buffer is unknown again, and asked for later.
4. What cannot be had any more is *lost*: it counts as silent, and clients are notified of it when the horizon comes to
   it.
5. A leaf without subscriptions follows no stream. It acknowledges every end of a stream that is announced to it.
6. Without an order (`UnorderedHorizon`), publications are processed when they arrive, each once; the horizon and what
   is asked for are the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from heapq import merge
from itertools import islice
from typing import NamedTuple

from broker_service.routing.gryphon.streams.publications import Held
from broker_service.routing.gryphon.streams.ranges import Range, RangeSet


class Lost(NamedTuple):
    """Positions that are lost."""

    start: int
    end: int
    """Position behind the last lost one."""


class Horizon:
    """The horizon of one leaf in one stream, with the publications that are held back above it."""

    def __init__(self, most_bytes: int) -> None:
        self.next: int | None = None
        """The first position that is not processed; None while the leaf does not follow the stream."""
        self.end = 0
        """Position behind the last one that is known to have been given."""
        self._held: dict[int, Held] = {}
        self._early = RangeSet()
        """Positions of the publications that are held back, because in these ranges gaps are found without looking at
        each publication."""
        self._silent = RangeSet()
        self._lost = RangeSet()
        """The lost ones among the silent positions."""
        self.bytes = 0
        """Bytes of the publications that are held back."""
        self._most_bytes = most_bytes

    @property
    def publications(self) -> int:
        """Publications that are held back."""
        return len(self._held)

    @property
    def lacks(self) -> bool:
        """True when positions before known ones are unknown, once all that is ready has been taken."""
        return self.next is not None and self.next < self.end

    def knows(self, position: int) -> bool:
        """True for a position that needs not arrive any more."""
        return self.next is None or position < self.next or position in self._held or position in self._silent

    def follow(self, position: int) -> None:
        """Begins to follow, if the leaf does not already."""
        if self.next is None:
            self.next = position
            self._silent.forget_below(position)

    def leave(self) -> None:
        """Follows the stream no more."""
        self.next = None
        self._held.clear()
        self._early = RangeSet()
        self._silent = RangeSet()
        self._lost = RangeSet()
        self.bytes = 0

    def passes(self, start: int, position: int) -> bool:
        """Processes a publication that arrives as the next one behind silent positions from `start` on, as nearly all
        do, so that it need not be held back.

        False, and nothing is changed, when it is another one, or when something else is known beyond the horizon.
        """
        if self.next is None or not start <= self.next <= position or self._held or self._silent:
            return False
        self.next = position + 1
        self.end = max(self.end, position + 1)
        return True

    def publication(self, held: Held) -> None:
        """A publication has arrived."""
        if self.next is None:
            return
        position, size = held.position, len(held.message.body)
        self.end = max(self.end, position + 1)
        fits = self.bytes + size <= self._most_bytes or position == self.next
        if position < self.next or position in self._held or not fits:
            return
        self._held[position] = held
        if position > self.next:
            self._early.add(position, position + 1)
        self.bytes += size

    def silence(self, start: int, end: int) -> None:
        """Positions hold nothing for this leaf."""
        if self.next is not None:
            self._silent.add(max(start, self.next), end)
            self.end = max(self.end, end)

    def lose(self, start: int, end: int) -> None:
        """Marks the unknown positions of a range as lost."""
        if self.next is None:
            return
        self.head(end)
        for part in RangeSet(self._gaps(self.next)).within(start, end):
            self._lost.add(*part)
            self._silent.add(*part)

    def head(self, end: int) -> None:
        """All positions before one have been given."""
        self.end = max(self.end, end)

    def ready(self) -> list[Held | Lost]:
        """Moves the horizon as far as everything is known, and returns the publications that it passes, and what is
        lost."""
        passed: list[Held | Lost] = []
        while self.next is not None:
            position = self.next
            held = self._held.pop(position, None)
            if held is not None:
                self.bytes -= len(held.message.body)
                self.next = position + 1
                passed.append(held)
                continue
            end = self._silent.end_of(position)
            if end == position:
                self._early.forget_below(position)
                break
            self._silent.forget_below(end)
            self.next = end
            if self._lost:
                passed += [Lost(*part) for part in self._lost.within(position, end)]
                self._lost.forget_below(end)
        return passed

    def unknown(self, most: int) -> list[Range]:
        """The first ranges of unknown positions before known ones."""
        return [] if self.next is None else list(islice(self._gaps(self.next), most))

    def _gaps(self, place: int) -> Iterator[Range]:
        """The unknown positions from one on, in their order."""
        for start, end in merge(self._early, self._silent):
            if place < start:
                yield place, start
            place = max(place, end)
        if place < self.end:
            yield place, self.end


class UnorderedHorizon(Horizon):
    """A horizon without order: publications are processed when they arrive (rule 6)."""

    def publication(self, held: Held) -> None:
        if held.position not in self._silent:
            super().publication(held)

    def ready(self) -> list[Held | Lost]:
        """Returns the publications that have arrived, and moves the horizon as far as everything is known."""
        passed = [self._held.pop(position) for position in sorted(self._held)]
        for held in passed:
            self.bytes -= len(held.message.body)
            self._silent.add(held.position, held.position + 1)
        return [*passed, *super().ready()]


HORIZONS: Mapping[str, type[Horizon]] = {"publisher": Horizon, "none": UnorderedHorizon}
"""The horizon of each `order` of the options."""
