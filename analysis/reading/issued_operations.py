"""Operations besides publications that clients issued before they began to leave: how many, and what they said."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from record.digests import operation_digest, place_digest
from record.log import Event, TraceRecord

ISSUED = frozenset({Event.ADVERTISE, Event.UNADVERTISE, Event.SUBSCRIBE, Event.UNSUBSCRIBE, Event.COMPOSE})


@dataclass(slots=True)
class IssuedOperations:
    """By variant and client."""

    counts: Counter[tuple[int, str]] = field(default_factory=Counter)
    contents: Counter[tuple[int, str]] = field(default_factory=Counter)
    """Sums of digests."""
    places: Counter[tuple[int, str]] = field(default_factory=Counter)
    """Sums of the digests of identifiers, brokers and windows."""

    def add(self, variant: int, client: str, record: TraceRecord) -> None:
        """Adds the operation that a record describes."""
        self.counts[variant, client] += 1
        self.contents[variant, client] += operation_digest(
            record.event, record.id or "", record.predicates, record.text
        )
        self.places[variant, client] += place_digest(record.id or "", record.peer or "", record.duration)

    def merge(self, other: IssuedOperations) -> None:
        self.counts.update(other.counts)
        self.contents.update(other.contents)
        self.places.update(other.places)
