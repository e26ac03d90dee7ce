"""Normalized resource usage of publications by their number of destinations (MEDYM, section 5.2.2, figure 7).

The measures are those of `analysis.judging.journeys.network`. A *destination* is a broker with a client that was
notified of the publication, other than the broker that got it from its publisher. All sums are of integers, so that
they are the same in whichever order publications are added.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec
import numpy as np

from analysis.judging.journeys.network import Integers, Network
from analysis.reading.event_table import NOBODY, Events, EventTable
from analysis.tables.totals import Rows, Sum
from analysis.tables.traffic import NetworkUsage
from record.log import Event
from record.time_units import MILLISECOND, SECOND

_PARTS = 10**9
"""Parts of one into which the ratio of a publication is divided, to be added as an integer."""
_NO_SERVER = -1


class Usage(msgspec.Struct):
    """Usage of the network by publications with equally many destinations: sums over publications."""

    variant: int
    destinations: int
    publications: Sum = 0
    usage: Sum = 0
    """Nanoseconds; `ideal` is in nanoseconds, too."""
    ideal: Sum = 0
    ratio: Sum = 0
    """Usage over ideal, in parts of `_PARTS`."""


def usage_of(table: EventTable, networks: Mapping[int, Network]) -> Rows[Usage]:
    """The network usage of the publications in a bucket, by variant. `networks` has each variant over a network of
    routers."""
    found = Rows(Usage)
    variants = np.array([variant for _, variant in table.journeys], dtype=np.int64)
    for network in {id(network): network for network in networks.values()}.values():
        over = [variant for variant, other in networks.items() if other is network]
        events = table.events.take(np.isin(variants, over)[table.events.journey])
        for usage in _of_network(table, events, network):
            found.add(usage)
    return found


def _of_network(table: EventTable, events: Events, network: Network) -> Iterator[Usage]:
    """The usage of each publication."""
    numbers = {server: number for number, server in enumerate(network.servers)}
    server = np.array([numbers.get(name, _NO_SERVER) for name in table.names] + [_NO_SERVER], dtype=np.int64)
    usages = _usages(events, server, network, len(table.journeys))
    notified = events.of(Event.NOTIFIED)
    reached = np.unique(np.column_stack((notified.journey, server[notified.broker])), axis=0)
    reached = reached[reached[:, 1] != _NO_SERVER]
    for journey, source in _sources(events, server):
        first, last = np.searchsorted(reached[:, 0], (journey, journey + 1))
        destinations = reached[first:last, 1]
        destinations = destinations[destinations != source]
        ideal, usage = round(network.ideal(source, destinations) * SECOND), int(usages[journey])
        if ideal:
            yield Usage(table.journeys[journey][1], len(destinations), 1, usage, ideal, usage * _PARTS // ideal)


def rows_of_usage(usages: Iterable[Usage], variants: Sequence[str], scales: Sequence[float]) -> Iterator[NetworkUsage]:
    """The table `network_usage`, given the number of publications for which each logged one stands, by variant."""
    for found in usages:
        yield NetworkUsage(
            variant=variants[found.variant],
            destinations=found.destinations,
            publications=round(found.publications * scales[found.variant]),
            usage_ms=found.usage / (found.publications * MILLISECOND),
            ideal_ms=found.ideal / (found.publications * MILLISECOND),
            normalized=found.ratio / (found.publications * _PARTS),
        )


def _usages(events: Events, server: Integers, network: Network, journeys: int) -> Integers:
    """Usage by each journey's copies, in nanoseconds."""
    sent = events.of(Event.SENT)
    sender, receiver = server[sent.broker], server[sent.neighbour]
    between = (sender != _NO_SERVER) & (receiver != _NO_SERVER)
    usages = np.zeros(journeys, dtype=np.int64)
    latencies = np.rint(network.latencies[sender[between], receiver[between]] * SECOND).astype(np.int64)
    np.add.at(usages, sent.journey[between], latencies)
    return usages


def _sources(events: Events, server: Integers) -> Iterator[tuple[int, int]]:
    """Each journey that came from its publisher to a server, and this server."""
    received = events.of(Event.RECEIVED)
    received = received.take((received.neighbour == NOBODY) & (server[received.broker] != _NO_SERVER))
    journeys, first = np.unique(received.journey, return_index=True)
    return zip(journeys.tolist(), server[received.broker[first]].tolist(), strict=True)
