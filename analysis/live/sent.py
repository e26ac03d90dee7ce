"""Messages that links have carried, by the second: from brokers' gauges, each of which has all messages so far.

1. What a gauge has more than the one before counts for the second in which the middle between the two lies. So a
   message counts within a second of when it was sent.
2. What a broker sent after its last gauge does not count: one that is killed has none of its last second. One that
   ends in order writes a last one.
3. A broker whose log has no such gauges, as those of older runs and of some other brokers, has its `sent` records
   counted, each for its own second. So have all until their first gauge comes, in which these messages are.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from functools import partial

from record.log import TraceRecord
from record.time_units import SECOND

Count = Callable[[int, str, str, int], None]
"""Adds messages, given the number of a second, the sender, the receiver, and how many."""


class SentMessages:
    """The messages of one variant, by link."""

    def __init__(self, second_of: Callable[[int], int], count: Count) -> None:
        """`second_of` is the number of the second of a time."""
        self._second_of = second_of
        self._count = count
        self._gauged: dict[str, dict[str, int]] = {}
        """Messages to each neighbour at the last gauge, by broker."""
        self._recorded: defaultdict[str, Counter[tuple[int, str]]] = defaultdict(partial(Counter[tuple[int, str]]))
        """Messages that were counted by their records, by second and neighbour; of brokers without a gauge so far."""

    def start(self, broker: str) -> None:
        """A broker has started to count anew."""
        if broker in self._gauged:
            self._gauged[broker] = {}

    def add_record(self, record: TraceRecord) -> None:
        """Counts a message by its record, unless gauges tell of it."""
        broker, neighbour = record.node, record.peer or ""
        if broker not in self._gauged:
            second = self._second_of(record.time)
            self._recorded[broker][second, neighbour] += 1
            self._count(second, broker, neighbour, 1)

    def add_gauge(self, gauge: TraceRecord, former: int) -> None:
        """Counts what a gauge has more than the one before; `former` is the time of the broker's former gauges."""
        broker, neighbour, sent = gauge.node, gauge.peer or "", gauge.sent or 0
        if broker not in self._gauged:
            self._gauged[broker] = {}
            for (second, receiver), messages in self._recorded.pop(broker, {}).items():
                self._count(second, broker, receiver, -messages)
        gauged = self._gauged[broker]
        more = sent - gauged.get(neighbour, 0)
        gauged[neighbour] = sent
        if more > 0:
            middle = (max(former, gauge.time - SECOND) + gauge.time) // 2
            self._count(self._second_of(middle), broker, neighbour, more)
