"""Congestion of a link: Eq. 3 of OctopiA (section 9.2).

    Q * (1 + Q_in) / (1 + Q_out) > tau

Q is the present length of the output queue; Q_in and Q_out are the messages that entered and left it in the last
interval t_w. The fraction is the congestion element CE: above 1 the queue grew in that interval, below 1 it shrank. Q
counts messages that wait for the transport, not those in flight on the link; and it counts messages of all kinds,
because publications wait behind whatever came before.

The paper compares TID routing under the same measure, so this serves both protocols.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from broker_service.messages import BrokerId
from broker_service.routing.interface import LinkStatus

UNUSABLE = float("inf")
"""Load reported for a link that is down. Only `CongestionOrFailure` checks for it."""


class LinkCondition(Protocol):
    """Condition of the links to neighbours, as routing sees it."""

    def is_overloaded(self, neighbour: BrokerId) -> bool:
        """True when publications should take another link."""

    def load(self, neighbour: BrokerId) -> float:
        """A number by which links are compared: the least loaded one is the best."""


class Congestion:
    """A link is overloaded when Eq. 3 holds for it, and its load is the length of its queue.

    As in the paper, a link that is down is overloaded only once enough messages wait for it.
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
    """Like `Congestion`; in addition, a link that is down is overloaded, and is taken only when no other works."""

    def __init__(self, link_status: Mapping[BrokerId, LinkStatus], threshold: float, interval: float) -> None:
        """Parameters as in `Congestion`."""
        self._link_status = link_status
        self._congestion = Congestion(link_status, threshold, interval)

    def is_overloaded(self, neighbour: BrokerId) -> bool:
        return not self._link_status[neighbour].up or self._congestion.is_overloaded(neighbour)

    def load(self, neighbour: BrokerId) -> float:
        return self._congestion.load(neighbour) if self._link_status[neighbour].up else UNUSABLE
