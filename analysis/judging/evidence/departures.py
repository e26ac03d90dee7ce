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

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from analysis.judging.trace import Step, StepKind
from analysis.tables.totals import LargestKnown, Rows
from topology.link_properties import BrokerId

Departure = tuple[int, BrokerId, BrokerId]
"""The begin of an outage, a broker, and the neighbour for which publications left it."""


@dataclass(frozen=True, slots=True)
class Departures:
    """The departures before the outages of one variant: the latest arrival at the broker of each."""

    left: Mapping[Departure, int] = field(default_factory=dict)
    """The latest arrival of a publication that had left the broker for the neighbour in time, by departure."""
    passed: Mapping[Departure, int] = field(default_factory=dict)
    """The latest arrival of a publication that had come to the neighbour in time, by departure."""


class LatestArrival(msgspec.Struct):
    """The time of arrival, at the broker of a departure, of the publication that came last."""

    variant: int
    begin: int
    broker: BrokerId
    neighbour: BrokerId
    left: LargestKnown = None
    """Arrival of the last publication that had left for the neighbour in time."""
    passed: LargestKnown = None
    """Arrival of the last publication that had come to the neighbour in time."""


def add_departures(latest: Rows[LatestArrival], variant: int, begins: Iterable[int], steps: Sequence[Step]) -> None:
    """Adds a publication with the records of its copies, before outages that begin at these times."""
    arrived: dict[BrokerId, int] = {}
    moves: list[tuple[int, BrokerId, BrokerId, int | None, int | None]] = []
    for step in steps:
        if step.kind is StepKind.ARRIVED:
            if step.peer in arrived:
                moves.append((step.time, step.peer, step.broker, None, arrived[step.peer]))
            arrived[step.broker] = step.time
        elif step.kind is StepKind.SENT and step.peer is not None and step.broker in arrived:
            moves.append((step.time, step.broker, step.peer, arrived[step.broker], None))
    for begin in begins:
        for time, broker, neighbour, left, passed in moves:
            if time < begin:
                latest.add(LatestArrival(variant, begin, broker, neighbour, left, passed))


def departures_of(variant: int, latest: Iterable[LatestArrival]) -> Departures:
    """The departures of one variant."""
    own = [(found, (found.begin, found.broker, found.neighbour)) for found in latest if found.variant == variant]
    return Departures(
        {departure: found.left for found, departure in own if found.left is not None},
        {departure: found.passed for found, departure in own if found.passed is not None},
    )
