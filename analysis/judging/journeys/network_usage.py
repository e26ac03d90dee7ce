"""Normalized resource usage of publications by their number of destinations (MEDYM, section 5.2.2, figure 7).

The measures are those of `analysis.judging.journeys.network`. A *destination* is a broker with a client that was
notified of the publication, other than the broker that got it from its publisher. All sums are of integers, so that
they are the same in whichever order publications are added.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Self

import numpy as np

from analysis.judging.journeys.network import Integers, Network
from analysis.reading.event_table import NOBODY, Events, EventTable
from analysis.tables.traffic import NetworkUsage
from record.log import Event
from record.time_units import MILLISECOND, SECOND

_PARTS = 10**9
"""Parts of one into which the ratio of a publication is divided, to be added as an integer."""
_NO_SERVER = -1


@dataclass(slots=True)
class _Sums:
    """Sums over publications."""

    publications: int = 0
    usage: int = 0
    """Nanoseconds, as the next."""
    ideal: int = 0
    ratio: int = 0
    """Usage over ideal, in parts of `_PARTS`."""

    def add(self, usage: int, ideal: int) -> None:
        """Adds a publication."""
        self.publications += 1
        self.usage += usage
        self.ideal += ideal
        self.ratio += usage * _PARTS // ideal

    def merge(self, other: _Sums) -> None:
        self.publications += other.publications
        self.usage += other.usage
        self.ideal += other.ideal
        self.ratio += other.ratio


@dataclass(slots=True)
class UsageTally:
    """Usage of the network by publications, by variant and number of destinations."""

    sums: defaultdict[tuple[int, int], _Sums] = field(default_factory=partial(defaultdict, _Sums))

    @classmethod
    def of(cls, table: EventTable, networks: Mapping[int, Network]) -> Self:
        """The usage by a bucket of publications, given the network of each variant that has one."""
        tally = cls()
        variants = np.array([variant for _, variant in table.journeys], dtype=np.int64)
        for network in {id(network): network for network in networks.values()}.values():
            over = [variant for variant, other in networks.items() if other is network]
            tally._add(table, table.events.take(np.isin(variants, over)[table.events.journey]), network)
        return tally

    def _add(self, table: EventTable, events: Events, network: Network) -> None:
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
            ideal = round(network.ideal(source, destinations) * SECOND)
            if ideal:
                self.sums[table.journeys[journey][1], len(destinations)].add(int(usages[journey]), ideal)

    def merge(self, other: UsageTally) -> None:
        for key, sums in other.sums.items():
            self.sums[key].merge(sums)

    def rows(self, variants: Sequence[str], scales: Sequence[float]) -> Iterator[NetworkUsage]:
        """The table `network_usage`, given the number of publications for which each logged one stands, by variant."""
        for (number, destinations), sums in sorted(self.sums.items()):
            yield NetworkUsage(
                variant=variants[number],
                destinations=destinations,
                publications=round(sums.publications * scales[number]),
                usage_ms=sums.usage / (sums.publications * MILLISECOND),
                ideal_ms=sums.ideal / (sums.publications * MILLISECOND),
                normalized=sums.ratio / (sums.publications * _PARTS),
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
