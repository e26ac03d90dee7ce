"""The ways of first notifications, from publishing to the client, as rows for the budget of delays.

A way is a chain of arrivals of the publication at brokers. Ways have their beginnings in common, so each arrival is one
row, which names the arrival before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

import numpy as np
import pyarrow as pa

from analysis.engines.arrays import keyed_lists
from analysis.judging.journeys.journey import Journeys, first_published
from analysis.judging.journeys.paths import NO_ARRIVAL
from analysis.reading.event_table import NOBODY, EventTable, Numbers
from analysis.reading.hop_events import message_key
from analysis.reading.publication_events import UNKNOWN
from broker_service.messages import Kind

_PUBLISH = Kind.PUBLISH.word


class ArrivalColumn(IntEnum):
    """The columns of an arrival of a publication at a broker."""

    MESSAGE = 0
    """Number that stands for the message, as in `HopColumn`."""
    VARIANT = 1
    BROKER = 2
    """The broker, by its place among the run's nodes, as other nodes here."""
    TIME = 3
    """Time of the turn in nanoseconds, as all times."""
    ROUTING = 4
    """Time that the router took; 0 where it is not known."""
    BEFORE = 5
    """The row of the arrival before it; `NO_ARRIVAL` at the publisher's broker."""


class NoticeColumn(IntEnum):
    """The columns of a client's first notification of a publication."""

    ARRIVAL = 0
    """The row of the arrival at the client's broker; `NO_ARRIVAL` where the log does not hold the way."""
    VARIANT = 1
    INTENDED = 2
    PUBLISHED = 3
    PUBLISHER = 4
    """The driver that published."""
    NOTIFIED = 5


WAYS = pa.schema(
    [
        pa.field("bucket", pa.int32(), nullable=False),
        ("arrivals", pa.list_(pa.int64())),
        ("notices", pa.list_(pa.int64())),
        ("passages", pa.list_(pa.int64())),
    ]
)
"""Ways of some publications, row after row: arrivals, first notifications, and passages over links
(`analysis.budget.parts`), which come from elsewhere."""


def ways_of(table: EventTable, journeys: Journeys, nodes: Mapping[str, int], buckets: int) -> pa.Table:
    """The ways of all first notifications in a bucket of publications, by bucket of the stage that takes them.

    `nodes` numbers brokers and drivers. A publication whose intended time is not known has no way.
    """
    messages = np.array([message_key(_PUBLISH, publication) for publication, _ in table.journeys], dtype=np.int64)
    variants = np.array([variant for _, variant in table.journeys], dtype=np.int64)
    journey, notices = _notices(table, journeys, variants, nodes)
    arrivals, before = journeys.arrivals, journeys.paths.before
    needed = _with_all_before(notices[:, NoticeColumn.ARRIVAL], before)
    own = arrivals.take(needed)
    brokers = np.array([nodes.get(name, NOBODY) for name in table.names], dtype=np.int64)
    routing = np.where(own.duration == UNKNOWN, 0, own.duration)
    chains = np.column_stack(
        (messages[own.journey], variants[own.journey], brokers[own.broker], own.time, routing, before[needed])
    )
    of_notice, of_arrival = messages[journey] % buckets, messages[own.journey] % buckets
    found = np.unique(of_notice).tolist()
    arrived, told = [], []
    for bucket in found:
        chosen = needed[of_arrival == bucket]
        there, ends = chains[of_arrival == bucket], notices[of_notice == bucket]
        for rows, column in ((there, ArrivalColumn.BEFORE), (ends, NoticeColumn.ARRIVAL)):
            known = rows[:, column] != NO_ARRIVAL
            rows[known, column] = np.searchsorted(chosen, rows[known, column])
        arrived.append(there)
        told.append(ends)
    return keyed_lists(WAYS, found, arrivals=arrived, notices=told)


def _notices(
    table: EventTable, journeys: Journeys, variants: Numbers, nodes: Mapping[str, int]
) -> tuple[Numbers, Numbers]:
    """The journey of each first notification, and its row. Arrivals are numbered as in `journeys`."""
    made = [first_published(publishings) for publishings in table.published]
    intended = np.array(
        [UNKNOWN if one is None or one.intended is None else one.intended for one in made], dtype=np.int64
    )
    published = np.array([UNKNOWN if one is None else one.time for one in made], dtype=np.int64)
    publisher = np.array([NOBODY if one is None else nodes.get(one.node, NOBODY) for one in made], dtype=np.int64)
    notified = journeys.notified
    first = np.ones(len(notified), dtype=np.bool_)
    first[1:] = (np.diff(notified.journey) != 0) | (np.diff(notified.client) != 0)
    first &= intended[notified.journey] != UNKNOWN
    journey = notified.journey[first]
    return journey, np.column_stack(
        (
            journeys.led[first],
            variants[journey],
            intended[journey],
            published[journey],
            publisher[journey],
            notified.time[first],
        )
    )


def _with_all_before(arrivals: Numbers, before: Numbers) -> Numbers:
    """These arrivals and all before them, in ascending order."""
    needed = np.zeros(len(before), dtype=np.bool_)
    new = np.unique(arrivals[arrivals != NO_ARRIVAL])
    while len(new):
        needed[new] = True
        new = np.unique(before[new])
        new = new[new != NO_ARRIVAL]
        new = new[~needed[new]]
    return np.flatnonzero(needed)
