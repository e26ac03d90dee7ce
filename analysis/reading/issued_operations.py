"""Operations besides publications that clients issued before they began to leave: how many, and what they said."""

from __future__ import annotations

from typing import Annotated

import msgspec

from analysis.tables.totals import Sum
from record.digests import operation_digest, place_digest, summed
from record.log import Event, TraceRecord

ISSUED = frozenset({Event.ADVERTISE, Event.UNADVERTISE, Event.SUBSCRIBE, Event.UNSUBSCRIBE, Event.COMPOSE})


def add_digests(one: int, other: int) -> int:
    """The sum of two sums of digests, as it is kept."""
    return summed(one + other)


_Digests = Annotated[int, add_digests]


class IssuedOperations(msgspec.Struct):
    """Number and digests of the operations that one client issued in one variant."""

    variant: int
    client: str
    count: Sum = 0
    contents: _Digests = 0
    places: _Digests = 0
    """The digests of identifiers, brokers and windows."""

    def note(self, record: TraceRecord) -> None:
        """Adds the operation that a record describes."""
        self.count += 1
        content = operation_digest(record.event, record.id or "", record.predicates, record.text)
        self.contents = add_digests(self.contents, content)
        self.places = add_digests(self.places, place_digest(record.id or "", record.peer or "", record.duration))
