"""Gauges over time, at eight bytes a number: output queues (the largest value in every second) and brokers' loads.

There is a value for each queue, or broker, and second. In a long run of a large overlay these are the fastest growing
data that reach the driver of the analysis.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from analysis.run_files.time_units import second_of
from analysis.tables.totals import Series

_EMPTY = (0, 0)
"""Messages waiting and in flight, of a queue that has shown nothing yet."""


class Queue(NamedTuple):
    """An output queue of a broker in one variant."""

    variant: int
    broker: str
    neighbour: str


class QueueReadings(Series[Queue]):
    """Values that queues showed: triples of second, messages waiting, messages in flight. A second may occur more than
    once."""

    def __init__(self) -> None:
        super().__init__(Queue)

    def show(self, queue: Queue, second: int, waiting: int, in_flight: int) -> None:
        shown = self.of(queue)
        if shown and shown[-3] == second:
            shown[-2], shown[-1] = max(shown[-2], waiting), max(shown[-1], in_flight)
        else:
            shown.extend((second, waiting, in_flight))

    def largest(self) -> Iterator[tuple[Queue, int, int, int]]:
        """The second, and the largest number of messages waiting and in flight in it; by queue, then by second."""
        for queue, shown in sorted(self.by_key.items()):
            largest: dict[int, tuple[int, int]] = {}
            for second, waiting, in_flight in zip(shown[::3], shown[1::3], shown[2::3], strict=True):
                before = largest.get(second, _EMPTY)
                largest[second] = max(before[0], waiting), max(before[1], in_flight)
            for second in sorted(largest):
                yield queue, second, *largest[second]


class LoadedBroker(NamedTuple):
    """A broker in one variant."""

    variant: int
    broker: str


class BrokerLoadInSecond(NamedTuple):
    """The load of a broker in one second."""

    second: int
    share: float
    """Share of one processor that the broker occupied."""
    memory: int | None
    """Bytes, the most that were read in this second; None where no memory was read."""


_NO_MEMORY = -1


class LoadReadings(Series[LoadedBroker]):
    """Work and memory that brokers showed: quadruples of incarnation, time, work since the incarnation started
    (nanoseconds both), memory."""

    def __init__(self) -> None:
        super().__init__(LoadedBroker)

    def show(self, broker: LoadedBroker, incarnation: int, time: int, work: int, memory: int | None) -> None:
        reading = (incarnation, time, work, _NO_MEMORY if memory is None else memory)
        self.of(broker).extend(reading)

    def loads(self, run_starts: Sequence[int | None]) -> Iterator[tuple[LoadedBroker, BrokerLoadInSecond]]:
        """The load in each second, by broker, then by second; `run_starts` are those of the variants.

        Between two readings of one incarnation the load is taken as constant, and it counts for the second in which
        the middle between them lies.
        """
        for broker, shown in sorted(self.by_key.items()):
            rows = np.frombuffer(shown, dtype=np.int64).reshape(-1, 4)
            rows = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
            seconds: dict[int, tuple[int, int, int]] = {}
            for former, latter in pairwise(rows.tolist()):
                elapsed, work = latter[1] - former[1], latter[2] - former[2]
                second = second_of(former[1] + elapsed // 2, run_starts[broker.variant])
                if former[0] != latter[0] or elapsed <= 0 or second is None:
                    continue
                before = seconds.get(second, (0, 0, _NO_MEMORY))
                seconds[second] = before[0] + elapsed, before[1] + work, max(before[2], latter[3])
            for second, (elapsed, work, memory) in sorted(seconds.items()):
                yield broker, BrokerLoadInSecond(second, work / elapsed, None if memory == _NO_MEMORY else memory)
