"""When a link counts as congested: Eq. 3 of OctopiA (section 9.2).

    Q * (1 + Q_in) / (1 + Q_out) > tau

Q is the length of the output queue now; Q_in and Q_out are what entered and left it in the last interval t_w. The
fraction is the congestion element CE: above 1 the queue grew in that interval, below 1 it shrank. Q counts what waits
for the transport, not what is in flight on the link; and it counts all messages, for publications wait behind whatever
came before.

The paper compares TID routing under the same measure, so this serves both protocols.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from broker_service.messages import BrokerId
from broker_service.routing.interface import LinkStatus

UNUSABLE = float("inf")
"""The load of a link that is down, to who looks whether it is."""


class LinkCondition(Protocol):
    """What routing asks about the link to a neighbour."""

    def is_overloaded(self, neighbour: BrokerId) -> bool:
        """Whether publications should take another link."""

    def load(self, neighbour: BrokerId) -> float:
        """Of several links the one with the least is the best."""


class Congestion:
    """A link is overloaded when Eq. 3 holds for it, and its load is the length of its queue.

    Nothing more: a link that is down is overloaded as soon as enough waits for it, as the paper has it.
    """

    def __init__(self, link_status: Mapping[BrokerId, LinkStatus], threshold: float, interval: float) -> None:
        """`threshold` is tau; `interval` is t_w, in seconds, and begins now."""
        self._link_status = link_status
        self._threshold = threshold
        self._interval = interval
        for status in link_status.values():
            status.flow(interval)

    def level(self, neighbour: BrokerId) -> float:
        """The left side of Eq. 3."""
        status = self._link_status[neighbour]
        length = status.queue_length
        if not length:
            return 0.0
        flow = status.flow(self._interval)
        return length * (1 + flow.entered) / (1 + flow.left)

    def is_overloaded(self, neighbour: BrokerId) -> bool:
        return self.level(neighbour) > self._threshold

    def load(self, neighbour: BrokerId) -> float:
        return self._link_status[neighbour].queue_length


class CongestionOrFailure:
    """As `Congestion`; besides, a link that is down is overloaded, and the last to be taken."""

    def __init__(self, link_status: Mapping[BrokerId, LinkStatus], threshold: float, interval: float) -> None:
        """As of `Congestion`."""
        self._link_status = link_status
        self._congestion = Congestion(link_status, threshold, interval)

    def is_overloaded(self, neighbour: BrokerId) -> bool:
        return not self._link_status[neighbour].up or self._congestion.is_overloaded(neighbour)

    def load(self, neighbour: BrokerId) -> float:
        return self._congestion.load(neighbour) if self._link_status[neighbour].up else UNUSABLE
