"""Publications that clients issued: how many, and when they were due."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, Self

from analysis.reading.event_table import EventTable


class Issued(NamedTuple):
    """The publications of one client."""

    publications: int
    due: int
    """The sum of their intended times, in nanoseconds of the run's clock and the scenario's time."""


@dataclass(slots=True)
class IssueTally:
    """The publications of all clients."""

    clients: dict[tuple[int, str], Issued] = field(default_factory=dict)
    """By variant and client."""

    def add(self, variant: int, client: str, issued: Issued) -> None:
        before = self.clients.get((variant, client), Issued(0, 0))
        self.clients[variant, client] = Issued(before.publications + issued.publications, before.due + issued.due)

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
                    found.add(
                        made.variant, made.client, Issued(1, made.time if made.intended is None else made.intended)
                    )
        return found
