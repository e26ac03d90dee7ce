"""Paths of publications over brokers, for all publications of a bucket at once.

The path of a notification is exact, not estimated. Each arrival of a publication at a broker is logged with the
neighbour it came from and the links travelled. The path to an arrival is the path to the arrival at that neighbour, one
link shorter, plus the wait in that neighbour's output queue. One pass over all arrivals, in the order of links
travelled, gives every path. A publication may arrive twice at a broker that dynamic routing reaches over two paths: the
two arrivals are distinguished by links travelled, then by time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from analysis.reading.event_table import NOBODY, Events, Numbers
from analysis.reading.publication_events import UNKNOWN

NO_ARRIVAL = -1


class Paths:
    """The paths to the arrivals of publications, as far as the log holds them from their beginning."""

    def __init__(self, arrivals: Events, sent: Events, names: Sequence[str]) -> None:
        """`arrivals` are in the order of journey, links travelled and time."""
        self._arrivals = arrivals
        self._names = names
        self._levels, self._level = np.unique(arrivals.hops, return_inverse=True)
        """The numbers of links travelled, in ascending order, and the number of each arrival's in it."""
        first = arrivals.neighbour == NOBODY
        self._before = np.full(len(arrivals), NO_ARRIVAL)
        """The arrival at the neighbour."""
        self.hops = arrivals.hops
        self.known = first
        self.waited = np.where(first, 0, UNKNOWN)
        """In output queues along the path, in all; `UNKNOWN` where the log does not hold it."""
        self._brokers: dict[int, tuple[str, ...]] = {}
        self._prolong(sent)

    def brokers(self, arrival: int) -> tuple[str, ...]:
        """The brokers on the path to an arrival, the publisher's first."""
        found = self._brokers.get(arrival)
        if found is None:
            before, name = int(self._before[arrival]), self._names[self._arrivals.broker[arrival]]
            found = self._brokers[arrival] = (name,) if before == NO_ARRIVAL else (*self.brokers(before), name)
        return found

    def of(self, notified: Events) -> Numbers:
        """The arrival that led to each notification: the last one at the client's broker before it, over as many links
        as it states; `NO_ARRIVAL` where there is none with a path."""
        known, arrivals = np.flatnonzero(self.known), self._arrivals
        level = np.searchsorted(self._levels, notified.hops)
        stated = self._levels.take(level, mode="clip") == notified.hops if len(self._levels) else level < 0
        last = last_before(
            self._at(arrivals.journey, arrivals.broker, self._level)[known],
            arrivals.time[known],
            np.where(stated, self._at(notified.journey, notified.broker, level), NO_ARRIVAL),
            notified.time,
        )
        found = np.where(last == NO_ARRIVAL, NO_ARRIVAL, known.take(last, mode="clip") if len(known) else NO_ARRIVAL)
        for number in np.flatnonzero(notified.hops == UNKNOWN).tolist():
            found[number] = self._last_over_any(notified, number)
        return found

    def _last_over_any(self, notified: Events, number: int) -> int:
        """The arrival that led to a notification without a number of links: that over the most."""
        arrivals, journey = self._arrivals, notified.journey[number]
        begin, end = np.searchsorted(arrivals.journey, (journey, journey + 1))
        fits = self.known[begin:end] & (arrivals.broker[begin:end] == notified.broker[number])
        fitting = np.flatnonzero(fits & (arrivals.time[begin:end] <= notified.time[number]))
        return int(begin + fitting[-1]) if len(fitting) else NO_ARRIVAL

    def _prolong(self, sent: Events) -> None:
        """Prolongs paths link by link: the last time that the neighbour sent the publication to the broker before the
        arrival there, and the last arrival at the neighbour before that."""
        arrivals = self._arrivals
        sent = sent.take(np.argsort(sent.duration, kind="stable"))  # of two sent at a time, the one that waited longer
        departure = last_before(
            self._link(sent.journey, sent.broker, sent.neighbour),
            sent.time,
            self._link(arrivals.journey, arrivals.neighbour, arrivals.broker),
            arrivals.time,
        )
        onward = ~self.known & (departure != NO_ARRIVAL)
        at, origin = (self._link(arrivals.journey, broker, NOBODY) for broker in (arrivals.broker, arrivals.neighbour))
        for before, arrived in self._consecutive():
            asking, there = arrived[onward[arrived]], before[self.known[before]]
            left = departure[asking]
            last = last_before(at[there], arrivals.time[there], origin[asking], sent.time[left])
            found = last != NO_ARRIVAL
            reached, source, wait = asking[found], there[last[found]], sent.duration[left[found]]
            self.known[reached], self._before[reached] = True, source
            unknown = (self.waited[source] == UNKNOWN) | (wait == UNKNOWN)
            self.waited[reached] = np.where(unknown, UNKNOWN, self.waited[source] + wait)

    def _consecutive(self) -> Iterator[tuple[Numbers, Numbers]]:
        """Arrivals over one number of links and those over one more, in ascending order."""
        order = np.argsort(self._level, kind="stable")
        bounds = np.searchsorted(self._level[order], range(len(self._levels) + 1)).tolist()
        for level in np.flatnonzero(np.diff(self._levels) == 1).tolist():
            yield order[bounds[level] : bounds[level + 1]], order[bounds[level + 1] : bounds[level + 2]]

    def _link(self, journey: Numbers, broker: Numbers, neighbour: Numbers | int) -> Numbers:
        """A number for a journey and two brokers."""
        names = len(self._names) + 1
        return (journey * names + broker + 1) * names + neighbour + 1

    def _at(self, journey: Numbers, broker: Numbers, level: Numbers) -> Numbers:
        """A number for a journey, a broker and a number of links."""
        return (journey * (len(self._names) + 1) + broker + 1) * (len(self._levels) + 1) + level


def last_before(keys: Numbers, times: Numbers, asked: Numbers, until: Numbers) -> Numbers:
    """For each key that is asked, the last entry under it until a time, or `NO_ARRIVAL`. Of entries of the same time,
    the latter counts."""
    entries = len(keys)
    order = np.lexsort((np.concatenate((times, until)), np.concatenate((keys, asked))))  # entries before questions
    is_entry = order < entries
    latest = np.maximum.accumulate(np.where(is_entry, np.arange(len(order)), NO_ARRIVAL))
    questions = np.flatnonzero(~is_entry)
    entry = np.where(latest[questions] == NO_ARRIVAL, NO_ARRIVAL, order[latest[questions]])
    question = order[questions] - entries
    found = np.full(len(asked), NO_ARRIVAL)
    if entries:
        found[question] = np.where((entry != NO_ARRIVAL) & (keys[entry] == asked[question]), entry, NO_ARRIVAL)
    return found
