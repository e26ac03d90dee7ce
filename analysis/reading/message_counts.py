"""Counts of messages as they are passed on: from client to broker, from broker to broker, from broker to client.

Each end of a passage counts by itself, so the two can be compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import starmap
from typing import NamedTuple

from analysis.tables.totals import with_shared_texts
from record.log import Event
from record.time_units import SECOND

PASSED_ON = frozenset(
    {
        Event.PUBLISH, Event.RECEIVED, Event.SENT, Event.DELIVERED, Event.NOTIFIED,
        Event.DROPPED, Event.DISTURBED, Event.RECALLED, Event.REJECTED, Event.REFUSED,
    }
)  # fmt: skip
"""Events at the ends of a passage, and those by which a message ends on it."""
TAIL = 2 * SECOND
"""Nanoseconds before clients leave, or the run is interrupted; a message of this time may be on its way still where the
drain was too short."""


class Passage(NamedTuple):
    """The properties that messages counted together have in common."""

    variant: int
    node: str
    event: Event
    kind: str | None
    peer: str | None
    fate: str | None
    """End of a disturbed message: `lost`, `repeated` or `held back`."""


@dataclass(frozen=True, slots=True)
class Passed:
    """A number of messages."""

    all: int = 0
    late: int = 0
    """Messages of the last `TAIL` before clients leave or the run is interrupted, and after."""
    leaving: int = 0
    """Messages since clients left."""

    def on_its_way(self, *, undrained: bool) -> int:
        """Messages that may not have arrived when the brokers stopped."""
        return self.late if undrained else self.leaving

    def __add__(self, other: Passed) -> Passed:
        return Passed(self.all + other.all, self.late + other.late, self.leaving + other.leaving)


NONE_PASSED = Passed()


class PassageCount(NamedTuple):
    """The messages of a passage."""

    passage: Passage
    passed: Passed


class MessageCounts:
    """Messages passed on in all variants."""

    row = PassageCount

    def __init__(self) -> None:
        self._passages: dict[Passage, Passed] = {}

    def add(self, row: PassageCount) -> None:
        known = self._passages.get(row.passage)
        if known is None:
            self._passages[with_shared_texts(row.passage)] = row.passed
        else:
            self._passages[row.passage] = known + row.passed

    def __iter__(self) -> Iterator[PassageCount]:
        return starmap(PassageCount, self._passages.items())

    def of(self, variant: int) -> Iterator[PassageCount]:
        return (counted for counted in self if counted.passage.variant == variant)
