"""Departures shortly before outages: the latest arrivals at a broker that had left it for a neighbour by then.

Output queues and streams are first in, first out. So a publication that came to a broker before another one was not
waiting there any more, for the next broker,

1. if it did not leave for that broker, though the other one did; or
2. if it left and never came, though the other one came there. A stream keeps what the neighbour has not acknowledged,
   so that what has left may still be lost with the broker, as long as the neighbour takes nothing.

Gauges of queues come once a second, and a broker that is killed takes the last one with it; departures tell to the
message.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from analysis.judging.trace import Step, StepKind
from topology.link_properties import BrokerId

Departure = tuple[int, BrokerId, BrokerId]
"""The begin of an outage, a broker, and the neighbour for which publications left it."""
_Latest = dict[tuple[int, Departure], int]
"""By variant and departure: the time of arrival, at the broker, of the publication that came last."""


@dataclass(frozen=True, slots=True)
class Departures:
    """The departures before the outages of one variant: the latest arrival at the broker of each."""

    left: Mapping[Departure, int] = field(default_factory=dict)
    """Of publications that had left the broker for the neighbour in time."""
    passed: Mapping[Departure, int] = field(default_factory=dict)
    """Of those that had come to the neighbour in time."""


@dataclass(slots=True)
class DepartureTally:
    """The departures before the outages of all variants."""

    left: _Latest = field(default_factory=dict)
    passed: _Latest = field(default_factory=dict)

    def add(self, variant: int, begins: Iterable[int], steps: Sequence[Step]) -> None:
        """Adds a publication with the records of its copies, before outages that begin at these times."""
        arrived: dict[BrokerId, int] = {}
        left: list[tuple[int, BrokerId, BrokerId, int]] = []
        passed: list[tuple[int, BrokerId, BrokerId, int]] = []
        for step in steps:
            if step.kind is StepKind.ARRIVED:
                if step.peer in arrived:
                    passed.append((step.time, step.peer, step.broker, arrived[step.peer]))
                arrived[step.broker] = step.time
            elif step.kind is StepKind.SENT and step.peer is not None and step.broker in arrived:
                left.append((step.time, step.broker, step.peer, arrived[step.broker]))
        for begin in begins:
            _note(self.left, variant, begin, left)
            _note(self.passed, variant, begin, passed)

    def merge(self, other: DepartureTally) -> None:
        for own, others in ((self.left, other.left), (self.passed, other.passed)):
            for key, came in others.items():
                own[key] = max(came, own.get(key, came))

    def of(self, variant: int) -> Departures:
        """Those of one variant."""
        return Departures(dict(_of(variant, self.left)), dict(_of(variant, self.passed)))


def _note(latest: _Latest, variant: int, begin: int, moves: Iterable[tuple[int, BrokerId, BrokerId, int]]) -> None:
    for time, broker, neighbour, came in moves:
        if time < begin:
            key = variant, (begin, broker, neighbour)
            latest[key] = max(came, latest.get(key, came))


def _of(variant: int, latest: _Latest) -> Iterator[tuple[Departure, int]]:
    return ((departure, came) for (number, departure), came in latest.items() if number == variant)
