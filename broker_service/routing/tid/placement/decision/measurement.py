"""Mean times of a broker between two readings, from what links and service have added up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from broker_service.messages import BrokerId
from broker_service.routing.interface import LinkStatus
from broker_service.routing.tid.placement.decision.queueing import BrokerTimes
from broker_service.service import ServiceTotals
from record.time_units import SECOND


@dataclass(frozen=True, slots=True)
class MeasuredTimes:
    """Times of this broker."""

    times: BrokerTimes
    """T_in and T_m; T_out is by link."""
    outputs: Mapping[BrokerId, float]
    """T_out in seconds, by neighbour."""

    def reported_to(self, neighbour: BrokerId) -> BrokerTimes:
        """The times that concern a neighbour."""
        return BrokerTimes(self.times.waiting, self.times.service, self.outputs.get(neighbour, 0.0))


class Measurement:
    """Readings of one broker's totals.

    Nothing that came, or left, between two readings leaves the mean of the time before as it is, because it tells
    nothing about the next message.
    """

    def __init__(self, links: Mapping[BrokerId, LinkStatus], service: Callable[[], ServiceTotals]) -> None:
        self._links = links
        self._service = service
        self._last = service()
        self._left = _totals_of(links)
        self.latest = MeasuredTimes(BrokerTimes(), {})
        """The means of the last two readings."""

    def take(self) -> MeasuredTimes:
        """Reads the totals. Returns the means since the last reading, which was at the construction at first."""
        last, now = self._last, self._service()
        times = self.latest.times
        if number := now.messages - last.messages:
            waiting, service = (now.waited - last.waited) / number, (now.occupied - last.occupied) / number
            times = BrokerTimes(waiting / SECOND, service / SECOND)
        left, outputs = _totals_of(self._links), {}
        for neighbour, (sent, waited) in left.items():
            sent_before, waited_before = self._left.get(neighbour, (0, 0))
            if sent > sent_before:
                outputs[neighbour] = (waited - waited_before) / (sent - sent_before) / SECOND
            else:
                outputs[neighbour] = self.latest.outputs.get(neighbour, 0.0)
        self._last, self._left = now, left
        self.latest = MeasuredTimes(times, outputs)
        return self.latest


def _totals_of(links: Mapping[BrokerId, LinkStatus]) -> dict[BrokerId, tuple[int, int]]:
    """Messages that have left each output queue, and the nanoseconds that they spent in it."""
    return {neighbour: (link.sent, link.waited) for neighbour, link in links.items()}
