"""Costs at rest of the nodes of one variant, which are those of the host that each of them is on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.auditing.hops.table import Numbers
from analysis.budget.variant import BudgetedVariant, Latency


@dataclass(frozen=True, slots=True)
class LatencyAtNodes:
    """The latency of each of many spans of time, by the host of its node."""

    latencies: Sequence[Latency]
    """One of each host."""
    host: Numbers
    """The number of each span's host."""

    @property
    def bounds(self) -> tuple[Numbers, Numbers, Numbers]:
        """The shortest time of each span's host, the mean and the longest."""
        least, mean, most = zip(*(latency.bounds for latency in self.latencies), strict=True)
        return of_hosts(least, self.host), of_hosts(mean, self.host), of_hosts(most, self.host)

    def plausible(self, times: Numbers) -> Numbers:
        """See `Latency.plausible`."""
        return self._each(Latency.plausible, times)

    def beyond(self, passed: Numbers) -> Numbers:
        """See `Latency.beyond`."""
        return self._each(Latency.beyond, passed)

    def _each(self, function: Callable[[Latency, Numbers], Numbers], times: Numbers) -> Numbers:
        if len(self.latencies) == 1:
            return function(self.latencies[0], times)
        found = np.zeros(len(times), dtype=np.int64)
        for number, latency in enumerate(self.latencies):
            own = self.host == number
            found[own] = function(latency, times[own])
        return found


class NodesAtRest:
    """Costs at rest, by the numbers of nodes. A node that is on none of the hosts has those of the variant."""

    def __init__(self, variant: BudgetedVariant, nodes: Sequence[str]) -> None:
        hosts = {host: number for number, host in enumerate(variant.rest_on, 1)}
        self._rests = (variant.rest, *variant.rest_on.values())
        self._simulated = variant.simulated
        self._host = np.array([hosts.get(variant.asked.hosts.get(node, ""), 0) for node in nodes], dtype=np.int64)

    def submit(self, brokers: Numbers) -> LatencyAtNodes:
        """Latencies of publications on their way from clients."""
        return LatencyAtNodes([rest.submit for rest in self._rests], self._host[brokers])

    def link(self, receivers: Numbers) -> LatencyAtNodes:
        """Latencies of messages on their way between brokers. Most of such a time is the receiver's waking up."""
        return LatencyAtNodes([rest.link for rest in self._rests], self._host[receivers])

    def before_arrival(self, receivers: Numbers) -> LatencyAtNodes:
        """Latencies as in `BudgetedVariant.before_arrival`."""
        return LatencyAtNodes([Latency()], np.zeros_like(receivers)) if self._simulated else self.link(receivers)

    def notify(self, brokers: Numbers) -> LatencyAtNodes:
        """Latencies of notifications on their way to clients."""
        return LatencyAtNodes([rest.notify for rest in self._rests], self._host[brokers])

    def handling(self, brokers: Numbers) -> Numbers:
        """Work for a publication that comes alone."""
        return of_hosts([rest.handling for rest in self._rests], self._host[brokers])

    def frame(self, brokers: Numbers) -> Numbers:
        """Work for a frame."""
        return of_hosts([rest.frame for rest in self._rests], self._host[brokers])

    def work(self, brokers: Numbers, kind: Numbers, kinds: Sequence[str]) -> Numbers:
        """Work for messages, whose kinds are numbers of `kinds`."""
        works = [[rest.work.get(name, 0) for name in kinds] for rest in self._rests]
        return np.asarray(np.array(works, dtype=np.int64)[self._host[brokers], kind])


def of_hosts(costs: Sequence[int], hosts: Numbers) -> Numbers:
    """The cost of each host, given the numbers of hosts. Nobody may change it afterwards."""
    if len(costs) == 1:
        return np.broadcast_to(np.int64(costs[0]), len(hosts))
    return np.asarray(np.array(costs, dtype=np.int64)[hosts])
