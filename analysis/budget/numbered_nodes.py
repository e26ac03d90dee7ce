"""The nodes of a variant by number, and those that work for a broker on its host: relay, and whoever acts for
its clients."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from analysis.auditing.hops.asked import PROGRAMS, AskedVariant
from analysis.auditing.hops.table import Numbers
from analysis.reading.event_table import NOBODY
from record.processors import RELAY


class NumberedNodes:
    """Numbers of brokers and drivers, as all variants have them, and of the relays of one variant behind these."""

    def __init__(self, nodes: Sequence[str], asked: AskedVariant) -> None:
        relays = sorted({asked.relay_of(node) for node in asked.hosts}) or [RELAY]
        self.names = (*nodes, *relays)
        """Names, by number."""
        self._numbers = {name: number for number, name in enumerate(self.names)}
        self._relays = self._of_each(nodes, asked.relay_of)
        self._subscribers = self._of_each(nodes, asked.subscribers_of)
        self._at_sites = self._of_each([site.name for site in asked.sites], asked.subscribers_of)
        self._programs = self._numbers.get(PROGRAMS, NOBODY)
        self._only_programs = np.array([asked.only_programs(site) for site in asked.sites], dtype=np.bool_)
        self._several = len(relays) > 1

    def relays(self, senders: Numbers, receivers: Numbers) -> Sequence[Numbers]:
        """The relays on ways from brokers to others, one or two for each way: that of the sender's host, and, if it is
        another, that of the receiver's, or else `NOBODY`."""
        near = self._relays[senders]
        if not self._several:
            return [near]
        far = self._relays[receivers]
        return [near, np.where(far == near, NOBODY, far)]

    def notified(self, brokers: Numbers, sites: Numbers) -> Numbers:
        """The nodes that get notifications from brokers for clients on sites, or beside their broker: the drivers of
        clients that do not publish, or, where all clients of a site are programs, the relay of these; `NOBODY` for one
        that is not known."""
        drivers = self._subscribers[brokers]
        if not len(self._at_sites):
            return drivers
        drivers = np.where(sites != NOBODY, self._at_sites[sites], drivers)
        return np.where((sites != NOBODY) & self._only_programs[sites], self._programs, drivers)

    def _of_each(self, ends: Sequence[str], beside: Callable[[str], str]) -> Numbers:
        return np.array([self._numbers.get(beside(end), NOBODY) for end in ends], dtype=np.int64)
