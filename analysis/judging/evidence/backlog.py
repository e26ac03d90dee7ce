"""The time in which messages waited at a broker, by its gauges.

Brokers write a gauge of each queue once a second unless all values are zero as before, so the seconds without a gauge
are without a backlog. A broker that is killed takes the gauge of its last second with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from analysis.reading.gauges import QueueReadings
from analysis.reading.intervals import NONE, Intervals
from analysis.reading.outages import Outage
from record.time_units import SECOND
from topology.link_properties import BrokerId

_AROUND = SECOND + SECOND // 2
"""Nanoseconds before and after a gauge of a backlog in which there may have been one, too."""


@dataclass(frozen=True, slots=True)
class Backlogs:
    """By broker: the time in which messages waited in any of its queues."""

    of: Mapping[BrokerId, Intervals] = field(default_factory=dict)

    def lasted(self, broker: BrokerId, begin: int, end: int) -> bool:
        """True when messages may have waited at the broker all the time."""
        backlog = self.of.get(broker, NONE)
        return any(start <= begin and end <= stop for start, stop in zip(backlog.starts, backlog.ends, strict=True))


def backlogs_of(
    readings: Iterable[QueueReadings], frozen: Iterable[Outage], variant: int, run_start: int | None
) -> Backlogs:
    """The backlogs of one variant's brokers, given the gauges of its queues and the outages in which brokers were
    frozen, which write no gauges."""
    waited: dict[BrokerId, list[tuple[int, int]]] = {}
    for outage in frozen:
        waited.setdefault(outage.target, []).append((outage.begin - _AROUND, outage.end + _AROUND))
    for queue, shown in (item for queues in readings for item in queues.shown.items()):
        if queue.variant == variant:
            for second, waiting, in_flight in zip(shown[::3], shown[1::3], shown[2::3], strict=True):
                if waiting or in_flight:
                    begin = (run_start or 0) + second * SECOND
                    waited.setdefault(queue.broker, []).append((begin - _AROUND, begin + SECOND + _AROUND))
    return Backlogs({broker: Intervals.of(times) for broker, times in waited.items()})
