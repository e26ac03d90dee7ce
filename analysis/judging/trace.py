"""The trace of one publication: its copies at brokers and on links, by the records of brokers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum

import msgspec

from topology.link_properties import BrokerId


class StepKind(IntEnum):
    """The records of a copy."""

    ARRIVED = 0
    SENT = 1
    DROPPED = 2


class Step(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """A record of a copy of a publication at a broker."""

    kind: StepKind
    time: int
    broker: BrokerId
    peer: BrokerId | None = None
    """The neighbour from which it arrived (None: the publisher), to which it was sent, or for which it was dropped."""
    text: str | None = None
    """The reason of a drop."""

    def is_towards(self, element: str) -> bool:
        """True of a copy for the next broker or over the direction `A->B` of a link that is named."""
        return element in (self.peer, f"{self.broker}->{self.peer}")

    def __str__(self) -> str:
        at = f"at {self.time / 1e9:.3f} s"
        match self.kind:
            case StepKind.ARRIVED:
                return f"arrived at {self.broker} {at}"
            case StepKind.SENT:
                return f"sent from {self.broker} to {self.peer} {at}"
            case StepKind.DROPPED:
                return f"dropped by {self.broker} {at} ({self.text})"


@dataclass(frozen=True, slots=True)
class CopyTrace:
    """The steps of one publication's copies, in order of time."""

    steps: Sequence[Step]

    def arrivals(self, broker: BrokerId) -> list[Step]:
        return [step for step in self.steps if step.kind is StepKind.ARRIVED and step.broker == broker]

    def sent(self, source: BrokerId, target: BrokerId) -> list[Step]:
        """The departures over one direction of a link."""
        return [
            step for step in self.steps if step.kind is StepKind.SENT and step.broker == source and step.peer == target
        ]

    def into(self, broker: BrokerId) -> list[Step]:
        """The departures towards a broker."""
        return [step for step in self.steps if step.kind is StepKind.SENT and step.peer == broker]

    def out_of(self, broker: BrokerId) -> list[Step]:
        """The departures from a broker."""
        return [step for step in self.steps if step.kind is StepKind.SENT and step.broker == broker]

    def arrived_over(self, source: BrokerId, target: BrokerId) -> list[Step]:
        """The arrivals over one direction of a link."""
        return [step for step in self.arrivals(target) if step.peer == source]

    def drops(self) -> Iterator[Step]:
        return (step for step in self.steps if step.kind is StepKind.DROPPED)

    def way_to(self, broker: BrokerId) -> tuple[BrokerId, ...]:
        """The brokers that the first copy to arrive at a broker passed, as far as the records show them; empty where
        none arrived."""
        way: list[BrokerId] = []
        before: int | None = None
        at: BrokerId | None = broker
        while at is not None and at not in way:
            step = next((step for step in self.arrivals(at) if before is None or step.time <= before), None)
            if step is None:
                break
            way.append(at)
            before, at = step.time, step.peer
        return tuple(reversed(way))

    @property
    def last(self) -> Step | None:
        """The latest step; None of a publication that no broker recorded."""
        return max(self.steps, key=lambda step: step.time, default=None)
