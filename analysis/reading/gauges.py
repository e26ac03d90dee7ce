"""Output queues over time: the largest value of each queue in every second, at eight bytes a number.

There is a value for each queue and second. In a long run of a large overlay these are the fastest growing data that
reach the driver of the analysis.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np


class Queue(NamedTuple):
    """An output queue of a broker in one variant."""

    variant: int
    broker: str
    neighbour: str


@dataclass(slots=True)
class QueueReadings:
    """Values that queues showed."""

    shown: dict[Queue, array[int]] = field(default_factory=dict)
    """Triples in a row: second, messages waiting, messages in flight. A second may occur more than once."""

    def add(self, queue: Queue, second: int, waiting: int, in_flight: int) -> None:
        shown = self.shown.get(queue)
        if shown is None:
            shown = self.shown[queue] = array("q")
        if shown and shown[-3] == second:
            shown[-2], shown[-1] = max(shown[-2], waiting), max(shown[-1], in_flight)
        else:
            shown.extend((second, waiting, in_flight))

    def merge(self, other: QueueReadings) -> None:
        for queue, shown in other.shown.items():
            self.shown.setdefault(queue, array("q")).extend(shown)

    def largest(self) -> Iterator[tuple[Queue, int, int, int]]:
        """The second, and the largest number of messages waiting and in flight in it; by queue, then by second."""
        for queue, shown in sorted(self.shown.items()):
            rows = np.frombuffer(shown, dtype=np.int64).reshape(-1, 3)
            rows = rows[np.argsort(rows[:, 0], kind="stable")]
            firsts = np.flatnonzero(np.diff(rows[:, 0], prepend=rows[0, 0] - 1))
            for second, waiting, in_flight in np.maximum.reduceat(rows, firsts).tolist():
                yield queue, second, waiting, in_flight
