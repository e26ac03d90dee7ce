"""Publications that clients issued: how many, when they were due, and what they said."""

from __future__ import annotations

from dataclasses import dataclass, field
from operator import add
from typing import NamedTuple, Self

from analysis.reading.event_table import EventTable
from record.digests import publication_digest


class Issued(NamedTuple):
    """The publications of one client."""

    publications: int
    due: int
    """The sum of their intended times, in nanoseconds of the run's clock and the scenario's time."""
    contents: int = 0
    """The sum of their digests."""


@dataclass(slots=True)
class IssueTally:
    """The publications of all clients."""

    clients: dict[tuple[int, str], Issued] = field(default_factory=dict)
    """By variant and client."""

    def add(self, variant: int, client: str, issued: Issued) -> None:
        before = self.clients.get((variant, client), Issued(0, 0))
        self.clients[variant, client] = Issued(*map(add, before, issued))

    def merge(self, other: IssueTally) -> None:
        for (variant, client), issued in other.clients.items():
            self.add(variant, client, issued)

    @classmethod
    def of(cls, table: EventTable) -> Self:
        """The publications of a bucket."""
        found = cls()
        for publishings in table.published:
            for made in publishings:
                if made.client is not None:
                    due = made.time if made.intended is None else made.intended
                    digest = publication_digest(made.publication, made.content)
                    found.add(made.variant, made.client, Issued(1, due, digest))
        return found
