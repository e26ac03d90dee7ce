"""Effects that the logs have before their causes: by how much, where, and an example.

1. A broker receives a publication from a client after the client published it.
2. A broker receives a publication from a neighbour after the neighbour sent it.
3. Clients are notified of a publication after it was published, and after their broker received it; or matched it,
   because a publication on a detour travels in a control message, which its record as `received` does not name.

Of several records of one publication the earliest counts at either end, because one may travel twice.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
import numpy as np
from numpy.typing import NDArray

from analysis.reading.event_table import EventTable
from analysis.tables.totals import Rows, Sum
from record.log import Event

Numbers = NDArray[np.int64]
Columns = tuple[Numbers, ...]

CLIENTS = "clients"
"""Stands for the clients at the other end of a passage; at both ends it stands for publishers and subscribers."""


class Example(msgspec.Struct, frozen=True, order=True):
    """The publication whose effect came the longest before the cause."""

    by: int = 0
    """Nanoseconds."""
    publication: str = ""


class Lead(msgspec.Struct):
    """A passage whose ends contradict each other, and the publications whose effect comes before the cause."""

    variant: int
    source: str
    target: str
    publications: Sum = 0
    worst: Annotated[Example, max] = Example()


def leads_of(table: EventTable) -> Rows[Lead]:
    """The leads in a bucket of publications."""
    width = len(table.names) + 1
    sent, received, matched, notified = map(
        table.events.of, (Event.SENT, Event.RECEIVED, Event.MATCHED, Event.NOTIFIED)
    )
    published, homes, times = _publishings(table)
    nobody = np.zeros_like
    causes = _earliest(
        _keys(width, (sent.journey, received.journey, matched.journey, published, published),
              (sent.broker + 1, received.broker + 1, matched.broker + 1, nobody(published), nobody(published)),
              (sent.neighbour + 1, nobody(received.broker), nobody(matched.broker), homes, nobody(published))),
        np.concatenate((sent.time, received.time, matched.time, times, times)),
    )  # fmt: skip
    effects = _earliest(
        _keys(width, (received.journey, notified.journey, notified.journey),
              (received.neighbour + 1, notified.broker + 1, nobody(notified.broker)),
              (received.broker + 1, nobody(notified.broker), nobody(notified.broker))),
        np.concatenate((received.time, notified.time, notified.time)),
    )  # fmt: skip
    keys, cause, effect = np.intersect1d(causes[0], effects[0], assume_unique=True, return_indices=True)
    leads = causes[1][cause] - effects[1][effect]
    found = Rows(Lead)
    for key, lead in zip(keys[leads > 0].tolist(), leads[leads > 0].tolist(), strict=True):
        journey, ends = divmod(key, width * width)
        source, target = divmod(ends, width)
        publication, variant = table.journeys[journey]
        found.add(Lead(variant, _name(table, source), _name(table, target), 1, Example(lead, publication)))
    return found


def _keys(width: int, journeys: Columns, sources: Columns, targets: Columns) -> Numbers:
    """One number for each journey, source and target; an end is the number of its name and 1, or 0 for clients."""
    return (np.concatenate(journeys) * width + np.concatenate(sources)) * width + np.concatenate(targets)


def _earliest(keys: Numbers, times: Numbers) -> tuple[Numbers, Numbers]:
    """The distinct keys, and the earliest time of each."""
    order = np.lexsort((times, keys))
    distinct, first = np.unique(keys[order], return_index=True)
    return distinct, times[order][first]


def _publishings(table: EventTable) -> tuple[Numbers, Numbers, Numbers]:
    """Journey, number of the publisher's broker and 1, and time of each publishing at a broker with events."""
    known = {name: number for number, name in enumerate(table.names, 1)}
    rows = [
        (journey, known[made.broker], made.time)
        for journey, publishings in enumerate(table.published)
        for made in publishings
        if made.broker in known
    ]
    journeys, homes, times = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    return journeys, homes, times


def _name(table: EventTable, end: int) -> str:
    return table.names[end - 1] if end else CLIENTS
