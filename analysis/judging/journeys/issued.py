"""Publications that clients issued: how many, when they were due, and what they said."""

from __future__ import annotations

from typing import Annotated

import msgspec

from analysis.reading.event_table import EventTable
from analysis.tables.totals import Rows, Sum
from record.digests import publication_digest, summed
from record.time_units import SECOND


def _both(one: int, other: int) -> int:
    return summed(one + other)


class Issued(msgspec.Struct):
    """The publications of one client."""

    variant: int
    client: str
    publications: Sum = 0
    due_seconds: Sum = 0
    """The sum of their intended times, of the run's clock and in the scenario's time, in whole seconds; and the rest in
    nanoseconds, because 64 bits do not hold that sum."""
    due_rest: Sum = 0
    contents: Annotated[int, _both] = 0
    """The sum of their digests, as it is kept."""

    @property
    def due(self) -> int:
        """The sum of their intended times in nanoseconds."""
        return self.due_seconds * SECOND + self.due_rest


def issued_of(table: EventTable) -> Rows[Issued]:
    """The publications of a bucket."""
    found = Rows(Issued)
    for publishings in table.published:
        for made in publishings:
            if made.client is not None:
                due = divmod(made.time if made.intended is None else made.intended, SECOND)
                digest = summed(publication_digest(made.publication, made.content))
                found.add(Issued(made.variant, made.client, 1, *due, digest))
    return found
