"""The replay: brokers and links as servers that take what comes in the order in which it comes.

1. A message is handled when it is ready and its broker has handled all that were ready before; it has its turn then.
2. A turn puts into output queues what it did in the log, after the same time: brokers' decisions stay. What no turn
   caused, but a timer, comes when it came.
3. A message is written when the one ahead on its link has been written, and acknowledged where a link has one message
   in flight. Where a broker's links send in turn, the one ahead is on any of them. It travels when the rate has served
   the one ahead on its link, and does not overtake that one.

So there is as much queueing as the overlay causes, at the times at which messages come without contention.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from heapq import heapify, heappop, heappush

import numpy as np

from analysis.auditing.hops.table import Numbers
from analysis.budget.at_rest import NodesAtRest
from analysis.budget.replay.causes import causes_of
from analysis.budget.replay.rows import HopColumn
from analysis.budget.variant import BudgetedVariant
from analysis.budget.waits import Waits
from analysis.reading.event_table import NOBODY
from analysis.reading.publication_events import UNKNOWN
from record.service_time import SendingOrder
from record.time_units import MILLISECOND

_FIRST = int(np.iinfo(np.int64).min)
_LINK = (HopColumn.SENDER, HopColumn.BROKER)
_WRITTEN_ONE_BY_ONE: Mapping[SendingOrder, Sequence[HopColumn]] = {
    SendingOrder.SIDE_BY_SIDE: _LINK,
    SendingOrder.IN_TURN: (HopColumn.SENDER,),
}
"""The columns in which messages are alike that are written one after the other."""
_AT_ONCE = MILLISECOND // 2
"""Nanoseconds after a turn in which nothing else of the broker comes into a queue before what the turn put there."""


def replayed(hops: Numbers, variant: BudgetedVariant, nodes: Sequence[str]) -> Numbers:
    """The turn of each message in a replay; `UNKNOWN` for those whose cause never comes. `hops` are in the order of
    their turns."""
    asked = variant.asked
    rest = NodesAtRest(variant, nodes)
    work = rest.handling(hops[:, HopColumn.SENDER])
    cause, after = causes_of(hops, Waits(asked.processors, nodes, asked.time_dilation), work)
    one_by_one = _WRITTEN_ONE_BY_ONE[variant.sending]
    links = _Links(hops, _in_turn(hops, rest.link(hops[:, HopColumn.BROKER]).bounds[-1]), one_by_one)
    order = np.lexsort((hops[:, HopColumn.TURN], hops[:, HopColumn.ENTERED], cause))
    begins = _plain(np.searchsorted(cause[order], np.arange(len(hops) + 1)))
    effects, delays = _plain(order), _plain(after[order])
    brokers, own = _plain(hops[:, HopColumn.BROKER]), _plain(hops[:, HopColumn.OWN])
    free = [_FIRST] * (max(brokers, default=0) + 1)  # until when each broker is occupied
    turns = _plain(np.full(len(hops), UNKNOWN))
    events = _begin(hops, cause, links)
    heapify(events)
    while events:
        time, hop = heappop(events)
        if hop < 0:  # it enters an output queue
            heappush(events, (links.ready(~hop, time), ~hop))
            continue
        broker = brokers[hop]
        turns[hop] = free[broker] = time = max(time, free[broker]) + own[hop]
        for place in range(begins[hop], begins[hop + 1]):
            effect, delay = effects[place], delays[place]
            if delay > _AT_ONCE:
                heappush(events, (time + delay, ~effect))
            else:
                heappush(events, (links.ready(effect, time + delay), effect))
    return np.array(turns, dtype=np.int64)


def _begin(hops: Numbers, cause: Numbers, links: _Links) -> list[tuple[int, int]]:
    """The first events: clients' messages are ready at brokers, and messages that no turn caused enter queues."""
    first = np.flatnonzero(cause == NOBODY)
    from_clients = hops[first, HopColumn.SENDER] == NOBODY
    come, sent = first[from_clients], first[~from_clients]
    ready = hops[come, HopColumn.DUE] + links.rest[come]
    entered = hops[sent, HopColumn.ENTERED]
    return [
        *zip(ready.tolist(), come.tolist(), strict=True),
        *zip(entered.tolist(), (~sent).tolist(), strict=True),
    ]


def _plain(numbers: Numbers) -> array[int]:
    """Numbers for Python, at eight bytes each, where a list takes forty."""
    return array("q", np.ascontiguousarray(numbers, dtype=np.int64).tobytes())


class _Links:
    """The links, on which messages follow one another."""

    def __init__(self, hops: Numbers, rest: Numbers, one_by_one: Sequence[HopColumn]) -> None:
        """`rest` is the time from the end of a link to the time from which the broker can handle a message; messages
        that are alike in the columns `one_by_one` are written one after the other."""
        self.rest = rest
        found, link = np.unique(hops[:, _LINK], axis=0, return_inverse=True)
        writers, writer = np.unique(hops[:, one_by_one], axis=0, return_inverse=True)
        columns = (
            HopColumn.LEAVING,
            HopColumn.SENDING,
            HopColumn.SERIALISED,
            HopColumn.TRAVELLING,
            HopColumn.ACKNOWLEDGED,
        )
        self._link, self._writer = _plain(link.reshape(-1)), _plain(writer.reshape(-1))
        self._leaving, self._sending, self._serialised, self._travelling, self._acknowledged = (
            _plain(hops[:, column]) for column in columns
        )
        self._rest = _plain(rest)
        self._written = [_FIRST] * len(writers)
        self._served, self._through = ([_FIRST] * len(found) for _ in range(2))

    def ready(self, hop: int, entered: int) -> int:
        """Sends a message that enters the queue of its link; returns the time from which it can be handled."""
        link, writer = self._link[hop], self._writer[hop]
        leaves = max(entered + self._leaving[hop], self._written[writer] + self._acknowledged[hop])
        written = self._written[writer] = leaves + self._sending[hop]
        served = self._served[link] = max(written, self._served[link]) + self._serialised[hop]
        due = self._through[link] = max(served + self._travelling[hop], self._through[link])
        return due + self._rest[hop]


def _in_turn(hops: Numbers, most: Numbers) -> Numbers:
    """The column `READY`, so much later that messages which were handled behind others were not ready before these.

    It stays as it is where that would be later than `most`: contention held the others up, which came before.
    """
    ready = hops[:, HopColumn.READY].copy()
    for broker in np.unique(hops[:, HopColumn.BROKER]).tolist():
        own = hops[:, HopColumn.BROKER] == broker
        due = hops[own, HopColumn.DUE]
        behind = np.maximum.accumulate(due + ready[own]) - due
        ready[own] = np.where(behind > most[own], ready[own], behind)
    return ready
