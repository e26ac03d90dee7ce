"""Kernel's counts of many nodes in many spans of time at once: waiting for a processor, running, and neither.

The kernel counts as waiting what a quota holds back, too. A node's own quota is planned, so what it took is told apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from analysis.auditing.hops.table import Numbers
from analysis.run_files.processor_times import ProcessorTimes
from record.service_time import ServiceTime
from record.time_units import MILLISECOND

_STOPPED_FROM = 250 * MILLISECOND
"""Real time without a sign of a node from which it was stopped: each reads its clock every 0.1 s."""

Look = Callable[[ProcessorTimes, Numbers, Numbers], Numbers]


def at_most(times: ProcessorTimes, begin: Numbers, end: Numbers) -> Numbers:
    """The most that can have passed: for time that nothing else explains."""
    return times.waited_at_most(begin, end)


def likely(times: ProcessorTimes, begin: Numbers, end: Numbers) -> Numbers:
    """The likely part, as if it was spread evenly: for time that something else explains."""
    return np.rint(times.waited_in(begin, end)).astype(np.int64)


class Waits:
    """The counts of one variant's nodes, by their numbers. Spans that end before they begin are empty."""

    def __init__(self, processors: Mapping[str, ProcessorTimes], nodes: Sequence[str], dilation: float = 1.0) -> None:
        self._waiting = {number: processors[name] for number, name in enumerate(nodes) if name in processors}
        self._held_back = {
            number: times.held_back for number, times in self._waiting.items() if times.held_back is not None
        }
        self._running = {number: times.running for number, times in self._waiting.items() if times.running is not None}
        self._stopped = {
            number: stops(self._waiting[number], round(_STOPPED_FROM / dilation)) for number in self._running
        }

    def of(self, look: Look, nodes: Numbers, begin: Numbers, end: Numbers) -> Numbers:
        """Waiting of each span's node, less what its own quota took."""
        found = _looked(self._waiting, look, (nodes, begin, end), 0)
        return np.asarray(np.maximum(found - self.held_back(look, nodes, begin, end), 0)) if self._held_back else found

    def held_back(self, look: Look, nodes: Numbers, begin: Numbers, end: Numbers) -> Numbers:
        """The time of each span for which its node's own quota held it back, as was planned."""
        return _looked(self._held_back, look, (nodes, begin, end), 0)

    def not_working(
        self, service: ServiceTime, brokers: Numbers, begin: Numbers, end: Numbers, waited: Numbers
    ) -> Numbers:
        """The time of each span, besides what was `waited`, in which its broker cannot have been at earlier work.

        A broker works when it runs. One whose messages take a service time sleeps meanwhile, so that only a stop shows
        that it did not work.
        """
        left = np.maximum(end - begin, 0) - waited
        if service:
            return np.asarray(np.minimum(left, self.stopped(brokers, begin, end)))
        held_back = self.held_back(likely, brokers, begin, end)
        return np.asarray(np.maximum(left - held_back - self.ran(brokers, begin, end), 0))

    def ran(self, nodes: Numbers, begin: Numbers, end: Numbers) -> Numbers:
        """The most of each span for which its node can have run; without end where that is not known."""
        return _looked(self._running, at_most, (nodes, begin, end), np.iinfo(np.int64).max)

    def stopped(self, nodes: Numbers, begin: Numbers, end: Numbers) -> Numbers:
        """The time of each span in which its node neither ran nor waited for so long that it was stopped."""
        return _looked(self._stopped, likely, (nodes, begin, end), 0)


def stops(times: ProcessorTimes, shortest: int) -> ProcessorTimes:
    """The times at least so long in which a node neither ran nor waited."""
    begin, end = times.ends[:-1], times.begins[1:]
    long = end - begin >= shortest
    return ProcessorTimes.of(begin[long], end[long], (end - begin)[long])


def _looked(
    of: Mapping[int, ProcessorTimes], look: Look, spans: tuple[Numbers, Numbers, Numbers], unknown: int
) -> Numbers:
    nodes, begin, end = spans
    found = np.full(len(nodes), unknown, dtype=np.int64)
    if of:
        for number in np.unique(nodes).tolist():
            times = of.get(number)
            if times is not None:
                own = nodes == number
                found[own] = look(times, begin[own], np.maximum(begin[own], end[own]))
    return found
