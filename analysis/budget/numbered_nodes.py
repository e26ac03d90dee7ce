"""The nodes of a variant by number, and those that work for a broker on its host: relay, and driver of subscribers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from analysis.auditing.hops.asked import AskedVariant
from analysis.auditing.hops.table import Numbers
from analysis.reading.event_table import NOBODY
from record.processors import RELAY


class NumberedNodes:
    """Numbers of brokers and drivers, as all variants have them, and of the relays of one variant behind these."""

    def __init__(self, nodes: Sequence[str], asked: AskedVariant) -> None:
        relays = sorted({asked.relay_of(node) for node in asked.hosts}) or [RELAY]
        self.names = (*nodes, *relays)
        """Names, by number."""
        self._nodes = nodes
        self._numbers = {name: number for number, name in enumerate(self.names)}
        self._relays = self._of_each(asked.relay_of)
        self._subscribers = self._of_each(asked.subscribers_of)
        self._several = len(relays) > 1

    def relays(self, senders: Numbers, receivers: Numbers) -> Sequence[Numbers]:
        """The relays on ways from brokers to others, one or two for each way: that of the sender's host, and, if it is
        another, that of the receiver's, or else `NOBODY`."""
        near = self._relays[senders]
        if not self._several:
            return [near]
        far = self._relays[receivers]
        return [near, np.where(far == near, NOBODY, far)]

    def subscribers(self, brokers: Numbers) -> Numbers:
        """The drivers of brokers' clients that do not publish; `NOBODY` for one that is not known."""
        return self._subscribers[brokers]

    def _of_each(self, beside: Callable[[str], str]) -> Numbers:
        return np.array([self._numbers.get(beside(node), NOBODY) for node in self._nodes], dtype=np.int64)
