"""Paths of publications over brokers, for all publications of a bucket at once.

The path of a notification is exact, not estimated. Each arrival of a publication at a broker is logged with the
neighbour it came from and the links travelled. The path to an arrival is the path to the arrival at that neighbour, one
link shorter, plus the wait in that neighbour's output queue. One pass over all arrivals, in the order of links
travelled, gives every path. A publication may arrive twice at a broker that dynamic routing reaches over two paths: the
two arrivals are distinguished by links travelled, then by time.

A publication that goes in circles makes as many paths as arrivals, each longer than the one before. So a path is held
up to a number of brokers that no path without circles reaches, and all of the work on paths is linear in arrivals.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from analysis.reading.event_table import NOBODY, Events, Numbers
from analysis.reading.publication_events import UNKNOWN

NO_ARRIVAL = -1


class Paths:
    """The paths to the arrivals of publications, as far as the log holds them from their beginning, and as far as they
    are not too long."""

    def __init__(self, arrivals: Events, sent: Events, names: Sequence[str], longest: Numbers) -> None:
        """`arrivals` are in the order of journey, links travelled and time; `longest` is the largest number of brokers
        on a path, for each journey."""
        self._arrivals = arrivals
        self._names = names
        self._levels, self._level = np.unique(arrivals.hops, return_inverse=True)
        """The numbers of links travelled, in ascending order, and the number of each arrival's in it."""
        first = arrivals.neighbour == NOBODY
        self.before = np.full(len(arrivals), NO_ARRIVAL)
        """The arrival at the neighbour."""
        self.hops = arrivals.hops
        self.known = first
        self.waited = np.where(first, 0, UNKNOWN)
        """In output queues along the path, in all; `UNKNOWN` where the log does not hold it."""
        self._length = np.ones(len(arrivals), dtype=np.int64)
        """The number of brokers on the path."""
        self._longest = longest
        self._brokers: dict[int, tuple[str, ...]] = {}
        self._prolong(sent)

    def brokers(self, arrival: int) -> tuple[str, ...]:
        """The brokers on the path to an arrival, the publisher's first."""
        found = self._brokers.get(arrival)
        if found is None:
            path, at = [], arrival
            while at != NO_ARRIVAL:
                path.append(self._names[self._broker[at]])
                at = self._sources[at]
            found = self._brokers[arrival] = tuple(reversed(path))
        return found

    def ends(self, begin: int, end: int) -> list[int]:
        """One arrival for each path of a journey that is not the beginning of another one. The journey's arrivals are
        those from `begin` to `end`."""
        nodes: dict[tuple[int, int], int] = {}
        """Paths, numbered: by the number of the path without its last broker, and that broker."""
        reached: dict[int, int] = {NO_ARRIVAL: NO_ARRIVAL}
        """The number of the path to each arrival."""
        prolonged: set[int] = set()
        for arrival in (np.flatnonzero(self.known[begin:end]) + begin).tolist():
            former = reached[self._sources[arrival]]
            reached[arrival] = nodes.setdefault((former, self._broker[arrival]), len(nodes))
            prolonged.add(former)
        last = {node: arrival for arrival, node in reached.items()}
        return [last[node] for node in nodes.values() if node not in prolonged]

    @cached_property
    def _sources(self) -> list[int]:
        before: list[int] = self.before.tolist()
        return before

    @cached_property
    def _broker(self) -> list[int]:
        brokers: list[int] = self._arrivals.broker.tolist()
        return brokers

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
        unstated = notified.hops == UNKNOWN
        found[unstated] = self._last_over_any(notified.take(unstated), known)
        return found

    def _last_over_any(self, notified: Events, known: Numbers) -> Numbers:
        """The arrivals that led to notifications without a number of links: of those before, that over the most."""
        if not len(notified) or not len(known):
            return np.full(len(notified), NO_ARRIVAL)
        arrivals = self._arrivals
        keys, times = self._link(arrivals.journey, arrivals.broker, NOBODY)[known], arrivals.time[known]
        order = np.lexsort((times, keys))
        group = np.cumsum(np.diff(keys[order], prepend=keys[order[0]]) != 0) * len(arrivals)
        most = np.maximum.accumulate(group + known[order]) - group
        asked = self._link(notified.journey, notified.broker, NOBODY)
        last = last_before(keys[order], times[order], asked, notified.time)
        return np.where(last == NO_ARRIVAL, NO_ARRIVAL, most.take(last, mode="clip"))

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
            found[found] = self._length[there[last[found]]] < self._longest[arrivals.journey[asking[found]]]
            reached, source, wait = asking[found], there[last[found]], sent.duration[left[found]]
            self.known[reached], self.before[reached] = True, source
            self._length[reached] = self._length[source] + 1
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
