"""Whether an overlay of real brokers has settled, told from what they say of themselves.

Two looks, one after the other, both of them complete before nothing more is asked: at the first, no message waits or is
under way on any link; at the second, no counter of any broker has moved. Then there is a moment between the two at
which nothing moved anywhere, and what does not move stays so until somebody outside does something.

A message is under way on a link when its neighbour has not acknowledged it. Neighbours take their time for that, so one
that they have handled already is known from their own counter as well; after a restart, where the two ends count from
different beginnings, acknowledgements alone decide.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from broker_service.generated import broker_pb2 as pb
from broker_service.messages import BrokerId
from topology import Link

Replies = Mapping[BrokerId, pb.StatusReply]
_Ends = Mapping[tuple[BrokerId, BrokerId], pb.LinkState]
"""By broker and its neighbour."""


@dataclass
class Expectation:
    """What should be up."""

    links: tuple[Link, ...]
    living: list[BrokerId]
    cut: set[frozenset[BrokerId]] = field(default_factory=set)


class Settling:
    """Looks again and again until two looks in a row agree."""

    def __init__(self, expected: Expectation) -> None:
        self.obstacle = "no broker was asked yet"
        """What kept the overlay from being settled at the latest look, in words; empty when nothing did."""
        self._expected = expected
        self._former: Mapping[BrokerId, tuple[int, ...]] | None = None

    def look(self, replies: Replies) -> bool:
        """Takes the latest replies; whether the overlay had settled by the look before."""
        moved = {broker: _counters(reply) for broker, reply in replies.items()}
        self.obstacle = next(self._obstacles(replies), "")
        if not self.obstacle and self._former != moved:
            self.obstacle = "messages still move"
        settled = not self.obstacle
        self._former = moved
        return settled

    def _obstacles(self, replies: Replies) -> Iterator[str]:
        for broker in self._expected.living:
            if broker not in replies:
                yield f"broker {broker} does not answer"
        ends = {(broker, link.neighbour): link for broker, reply in replies.items() for link in reply.links}
        for link in self._expected.links:
            yield from self._link_obstacles(link.a, link.b, ends)

    def _link_obstacles(self, a: BrokerId, b: BrokerId, ends: _Ends) -> Iterator[str]:
        works = frozenset((a, b)) not in self._expected.cut and {a, b} <= set(self._expected.living)
        for one, other in ((a, b), (b, a)):
            end = ends.get((one, other))
            if end is None:
                continue
            if end.up != works:
                yield f"{one} takes its link to {other} for {'up' if end.up else 'down'}"
            elif works and (waiting := _under_way(end, ends.get((other, one)))):
                yield f"{waiting} messages are under way from {one} to {other}"


def _under_way(end: pb.LinkState, opposite: pb.LinkState | None) -> int:
    if opposite is not None and not end.queued and end.sent == opposite.received:
        return 0
    return end.queued + end.in_flight


def _counters(reply: pb.StatusReply) -> tuple[int, ...]:
    """What grows whenever a broker does something."""
    return (
        reply.incarnation, reply.clients, reply.published, reply.delivered, reply.rejected, reply.dropped,
        *(count for link in reply.links for count in (link.sent, link.received, link.dropped)),
    )  # fmt: skip
