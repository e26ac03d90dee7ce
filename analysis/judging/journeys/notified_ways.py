"""The ways of first notifications, from publishing to the client, as rows for the budget of delays.

A way is a chain of arrivals of the publication at brokers. Ways have their beginnings in common, so each arrival is one
row, which names the arrival before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from types import MappingProxyType

import numpy as np
import pyarrow as pa

from analysis.engines.arrays import keyed_lists
from analysis.judging.journeys.journey import Journeys, first_published
from analysis.judging.journeys.paths import NO_ARRIVAL, last_before
from analysis.reading.event_table import NOBODY, Events, EventTable, Numbers, Truths
from analysis.reading.message_keys import publication_keys
from analysis.reading.publication_events import UNKNOWN
from record.log import Event


@dataclass(frozen=True, slots=True)
class NumberedSites:
    """The number of the site of each client of one variant; `NOBODY` stands for the place beside a broker."""

    of_client: Mapping[str, int] = field(default_factory=dict)
    of_moved: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """The site of a client that moves, by the client and the broker that it was at."""

    def number(self, client: str, broker: str) -> int:
        """The number of a client's site while it is at a broker."""
        return self.of_moved.get((client, broker), self.of_client.get(client, NOBODY))


Sites = Mapping[int, NumberedSites]
"""Numbered sites, by variant."""
NO_SITE = NumberedSites()
NO_SITES: Sites = MappingProxyType({})


class PublishingColumn(IntEnum):
    """The columns of a publication whose intended time is known."""

    MESSAGE = 0
    """Number that stands for the message, as in `HopColumn`."""
    VARIANT = 1
    INTENDED = 2
    """Times in nanoseconds."""
    PUBLISHED = 3
    PUBLISHER = 4
    """The driver that published, by its place among the run's nodes, as other nodes here."""
    SITE = 5
    """The number of the client's site in its variant; `NOBODY` for a client beside its broker."""


class ArrivalColumn(IntEnum):
    """The columns of an arrival of a publication at a broker: at the publisher's, or on the way of a notification."""

    PUBLISHING = 0
    """The row of the publication."""
    BROKER = 1
    TIME = 2
    """Time of the turn."""
    ROUTING = 3
    """Time that the router took; 0 where it is not known."""
    BEFORE = 4
    """The row of the arrival before it; `NO_ARRIVAL` at the publisher's broker."""


class NoticeColumn(IntEnum):
    """The columns of a client's first notification of a publication."""

    PUBLISHING = 0
    ARRIVAL = 1
    """The row of the arrival at the client's broker; `NO_ARRIVAL` where the log does not hold the way."""
    NOTIFIED = 2
    LEFT = 3
    """The time at which it left the broker; `UNKNOWN` where that was at the turn, or is not logged."""
    SITE = 4
    """The number of its client's site, as in `PublishingColumn`."""


WAYS = pa.schema(
    [
        pa.field("bucket", pa.int32(), nullable=False),
        ("publishings", pa.list_(pa.int64())),
        ("arrivals", pa.list_(pa.int64())),
        ("notices", pa.list_(pa.int64())),
        ("passages", pa.list_(pa.int64())),
    ]
)
"""Ways of some publications, row after row: publishings, arrivals, first notifications, and passages over links
(`analysis.budget.parts`), which come from elsewhere."""


def ways_of(
    table: EventTable, journeys: Journeys, nodes: Mapping[str, int], bucket: int, sites: Sites = NO_SITES
) -> pa.Table:
    """The ways of all first notifications in a bucket of publications, for that bucket of the stage that takes them.

    `nodes` numbers brokers and drivers. A publication whose intended time is not known has no way.
    """
    publishing, publishings = _publishings(table, nodes, sites)
    if not len(publishing):
        return WAYS.empty_table()
    published = np.zeros(len(table.journeys), dtype=np.bool_)
    published[publishing] = True
    events, told = journeys.arrivals, journeys.notified
    notified = _first_notified(journeys, published)
    before = journeys.paths.before
    needed = _with_all_before(journeys.led[notified], before)
    needed |= (events.neighbour == NOBODY) & published[events.journey]
    left = _left(table, journeys)
    brokers = np.array([nodes.get(name, NOBODY) for name in table.names], dtype=np.int64)
    own, chosen = np.flatnonzero(needed), np.flatnonzero(notified)
    durations = events.duration[own]
    routing = np.where(durations == UNKNOWN, 0, durations)
    row = np.searchsorted(publishing, events.journey[own])
    arrivals = np.column_stack((row, brokers[events.broker[own]], events.time[own], routing, _places(before[own], own)))
    row = np.searchsorted(publishing, told.journey[chosen])
    notices = np.column_stack((row, _places(journeys.led[chosen], own), told.time[chosen], left[chosen]))
    notices = np.column_stack((notices, _sites_of(told.take(chosen), table, sites)))
    return keyed_lists(WAYS, [bucket], publishings=[publishings], arrivals=[arrivals], notices=[notices])


def _sites_of(told: Events, table: EventTable, sites: Sites) -> Numbers:
    """The number of each notified client's site."""
    found = np.full(len(told), NOBODY)
    variants = np.array([variant for _, variant in table.journeys], dtype=np.int64)[told.journey]
    for variant, numbers in sites.items():
        of_client = np.array([numbers.of_client.get(name, NOBODY) for name in table.names], dtype=np.int64)
        own = variants == variant
        found[own] = of_client[told.client[own]]
        places = {name: place for place, name in enumerate(table.names)} if numbers.of_moved else {}
        for (client, broker), site in numbers.of_moved.items():
            if client in places and broker in places:
                found[own & (told.client == places[client]) & (told.broker == places[broker])] = site
    return found


def _publishings(table: EventTable, nodes: Mapping[str, int], sites: Sites) -> tuple[Numbers, Numbers]:
    """The journeys of publications whose intended time is known, in ascending order, and a row for each."""
    made, numbers, intended = [], [], []
    for number, publishings in enumerate(table.published):
        one = first_published(publishings)
        if one is not None and one.intended is not None:
            made.append(one)
            numbers.append(number)
            intended.append(one.intended)
    journeys = [table.journeys[number] for number in numbers]
    columns = (
        publication_keys(publication for publication, _ in journeys),
        [variant for _, variant in journeys],
        intended,
        [one.time for one in made],
        [nodes.get(one.node, NOBODY) for one in made],
        [sites.get(one.variant, NO_SITE).number(one.client or "", one.broker or "") for one in made],
    )
    rows = np.empty((len(made), len(PublishingColumn)), dtype=np.int64)
    for column, values in zip(PublishingColumn, columns, strict=True):
        rows[:, column] = values
    return np.array(numbers, dtype=np.int64), rows


def _first_notified(journeys: Journeys, published: Truths) -> Truths:
    """True for a client's first notification of each of these publications."""
    notified = journeys.notified
    first = np.ones(len(notified), dtype=np.bool_)
    first[1:] = (np.diff(notified.journey) != 0) | (np.diff(notified.client) != 0)
    return np.asarray(first & published[notified.journey])


def _left(table: EventTable, journeys: Journeys) -> Numbers:
    """The time at which each notification left its broker."""
    delivered, notified = table.events.of(Event.DELIVERED), journeys.notified
    if not len(delivered):
        return np.full(len(notified), UNKNOWN)
    names = len(table.names) + 1
    keys, asked = (
        (events.journey * names + events.broker + 1) * names + events.client + 1 for events in (delivered, notified)
    )
    last = last_before(keys, delivered.time, asked, notified.time)
    return np.where(last == NO_ARRIVAL, UNKNOWN, delivered.time[last])


def _places(arrivals: Numbers, among: Numbers) -> Numbers:
    """The places of arrivals among some in ascending order; `NO_ARRIVAL` remains."""
    return np.where(arrivals == NO_ARRIVAL, NO_ARRIVAL, np.searchsorted(among, arrivals))


def _with_all_before(arrivals: Numbers, before: Numbers) -> Truths:
    """True for these arrivals and all before them."""
    needed = np.zeros(len(before), dtype=np.bool_)
    new = np.unique(arrivals[arrivals != NO_ARRIVAL])
    while len(new):
        needed[new] = True
        new = np.unique(before[new])
        new = new[new != NO_ARRIVAL]
        new = new[~needed[new]]
    return needed
