"""Backlogs: the time in which a message may have waited in a queue of a broker, by the gauges of that queue and by what
was measured besides.

Brokers write a gauge of each queue once a second unless it is as before, so a second without a gauge is like the one
before it. A gauge alone excuses nothing, because a broker that keeps messages for ever shows them as waiting. A wait is
explained by

1. a fault of the broker, of the neighbour or of a direction of their link, until the overlay may have recovered;
2. the messages that were in the queue before it, each of which takes its time to leave
   (`analysis.judging.evidence.paces`).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain, pairwise

from analysis.judging.evidence.paces import Paces
from analysis.reading.gauges import QueueReadings
from analysis.reading.intervals import FOREVER, NONE, Intervals
from analysis.reading.log_events import OutageEvent
from analysis.reading.outages import outages
from record.faults import FaultKind
from record.time_units import SECOND
from topology.link_properties import BrokerId

HANDLING_SECONDS = 1.5
"""The time for which a broker may hold a publication though nothing explains that. It is allowed because gauges of
queues come once a second, and a broker that is killed takes the last one with it. A copy that others overtook was not
held (`analysis.judging.evidence.departures`)."""

HANDLING = int(HANDLING_SECONDS * SECOND)
_ENDING = frozenset({FaultKind.KILL, FaultKind.STOP})
_AROUND = SECOND + SECOND // 2
"""Nanoseconds before and after a gauge of a backlog in which there may have been one, too."""


@dataclass(frozen=True, slots=True)
class QueueHistory:
    """One queue of a broker, and what explains that messages wait there. Nanoseconds."""

    occupied: Intervals
    """The time in which there may have been messages in it."""
    seconds: tuple[int, ...]
    """The begins of the seconds in which its gauge changed, in ascending order."""
    lengths: tuple[int, ...]
    """The messages that waited or were in flight from each of them on."""
    struck: Intervals
    """The time in which faults explain that it stood still."""
    pace: int
    """The time that each message takes at most to leave it."""

    def held(self, begin: int, end: int) -> bool:
        """True when a message may have been there all the time, and that is explained."""
        occupied = self.occupied.settled(begin, begin) >= end and self.occupied.overlaps(begin, begin)
        return occupied and self._left_by(begin, end) >= end

    def _left_by(self, begin: int, end: int) -> int:
        """The latest time, as far as `end`, by which a message has left that had come at `begin`."""
        time = begin
        while time < end:
            left = time + HANDLING + self.pace * (self._length(time) + 1)
            waited = self.struck.settled(time, left)
            if waited == left:
                return left
            time = waited
        return end

    def _length(self, time: int) -> int:
        """The most messages that were in it about this time."""
        first = max(0, bisect_right(self.seconds, time - _AROUND) - 1)
        last = bisect_left(self.seconds, time + _AROUND)
        return max(self.lengths[first:last], default=0)


@dataclass(frozen=True, slots=True)
class Backlogs:
    """The queues of one variant's brokers in which messages waited."""

    of: Mapping[BrokerId, Mapping[str, QueueHistory]] = field(default_factory=dict)
    """Histories of queues by broker, and by the element before which messages waited: the direction of a link, or the
    broker itself for its service."""

    def lasted(self, broker: BrokerId, begin: int, end: int, passes: Callable[[str], bool]) -> bool:
        """True when a message may have waited at the broker all the time before an element that its way passes, and
        something explains that."""
        queues = self.of.get(broker, {}).items()
        return any(queue.held(begin, end) and (element == broker or passes(element)) for element, queue in queues)


@dataclass(frozen=True, slots=True)
class Silence:
    """The times in which a broker wrote no gauges. Nanoseconds."""

    frozen: Intervals = NONE
    """The times in which the broker was frozen, so that its queues stayed as they were."""
    ended: tuple[int, ...] = ()
    """The times at which the broker ended, so that its queues were empty afterwards, in ascending order."""


_NOT_SILENCED = Silence()


def silences_of(faults: Iterable[OutageEvent]) -> dict[BrokerId, Silence]:
    """The silences by the faults of one variant, by broker."""
    frozen: dict[BrokerId, list[tuple[int, int]]] = {}
    ended: dict[BrokerId, list[int]] = {}
    for outage in outages(faults):
        if outage.kind == FaultKind.PAUSE:
            frozen.setdefault(outage.target, []).append((outage.begin, outage.end))
        elif outage.kind in _ENDING:
            ended.setdefault(outage.target, []).append(outage.begin)
    return {
        broker: Silence(Intervals.of(frozen.get(broker, ())), tuple(ended.get(broker, ())))
        for broker in {**frozen, **ended}
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanations:
    """The facts that explain waits in the queues of one variant."""

    struck: Mapping[str, Intervals]
    """Time from each fault until the overlay may have recovered, by broker and direction of a link."""
    silences: Mapping[BrokerId, Silence]
    paces: Paces


def backlogs_of(variant: int, readings: Iterable[QueueReadings], run_start: int, by: Explanations) -> Backlogs:
    """The backlogs of one variant, by the gauges of its queues."""
    shown: dict[tuple[BrokerId, str], list[tuple[int, int]]] = {(broker, ""): [] for broker in by.silences}
    for queue, gauges in chain.from_iterable(queues.by_key.items() for queues in readings):
        if queue.variant == variant:
            seconds = (run_start + second * SECOND for second in gauges[::3])
            lengths = map(sum, zip(gauges[1::3], gauges[2::3], strict=True))
            shown.setdefault((queue.broker, queue.neighbour), []).extend(zip(seconds, lengths, strict=True))
    found: dict[BrokerId, dict[str, QueueHistory]] = {}
    for (broker, neighbour), gauges_shown in shown.items():
        ends = (broker, neighbour, f"{broker}->{neighbour}", f"{neighbour}->{broker}") if neighbour else (broker,)
        found.setdefault(broker, {})[f"{broker}->{neighbour}" if neighbour else broker] = _history(
            sorted(gauges_shown),
            by.silences.get(broker, _NOT_SILENCED),
            Intervals.union(*(by.struck.get(end, NONE) for end in ends)),
            by.paces.seconds(broker, neighbour or None),
        )
    return Backlogs(found)


def _history(shown: list[tuple[int, int]], silence: Silence, struck: Intervals, pace: float) -> QueueHistory:
    occupied = [
        (begin - _AROUND, end + _AROUND) for begin, end in zip(silence.frozen.starts, silence.frozen.ends, strict=True)
    ]
    for (since, length), (until, _) in pairwise([*shown, (FOREVER, 0)]):
        if length:
            ended = next((time for time in silence.ended if time >= since), FOREVER)
            occupied.append((since - _AROUND, min(until, ended) + _AROUND))
    return QueueHistory(
        occupied=Intervals.of(occupied),
        seconds=tuple(second for second, _ in shown),
        lengths=tuple(length for _, length in shown),
        struck=struck,
        pace=round(pace * SECOND),
    )
