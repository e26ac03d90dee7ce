"""The replay: brokers and links as servers that take what comes in the order in which it comes.

1. A message is handled when it is ready and its broker has handled all that were ready before; it has its turn then.
2. Each turn puts into output queues what was logged after it and before the broker's next turn, after the logged time:
   brokers' decisions stay.
3. A message is written when the one ahead on its link has been written. It travels when the rate has served the one
   ahead, and does not overtake that one.

So there is as much queueing as the overlay causes, at the times at which messages come without contention.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush

import numpy as np

from analysis.auditing.hops.table import Numbers
from analysis.budget.replay.rows import HopColumn
from analysis.budget.variant import BudgetedVariant
from analysis.budget.waits import Waits, likely
from analysis.reading.event_table import NOBODY
from analysis.reading.publication_events import UNKNOWN

_FIRST = int(np.iinfo(np.int64).min)


def replayed(hops: Numbers, variant: BudgetedVariant, nodes: Sequence[str]) -> Numbers:
    """The turn of each message in a replay; `UNKNOWN` for those whose cause never comes. `hops` are in the order of
    their turns."""
    asked = variant.asked
    cause, after = _causes(hops, Waits(asked.processors, nodes, asked.time_dilation))
    ready = _in_turn(hops, variant.rest.link.bounds[-1])
    roots = cause == NOBODY
    heap = list(zip((hops[roots, HopColumn.DUE] + ready[roots]).tolist(), np.flatnonzero(roots).tolist(), strict=True))
    heapify(heap)
    order = np.lexsort((hops[:, HopColumn.LEFT], hops[:, HopColumn.ENTERED], cause))
    begins = np.searchsorted(cause[order], np.arange(len(hops) + 1)).tolist()
    links, link = np.unique(hops[:, [HopColumn.SENDER, HopColumn.BROKER]], axis=0, return_inverse=True)
    effects = list(
        zip(
            *(
                column[order].tolist()
                for column in (
                    np.arange(len(hops)),
                    link.reshape(-1),
                    after,
                    hops[:, HopColumn.LEFT],
                    hops[:, HopColumn.WRITING],
                    hops[:, HopColumn.SERIALISED],
                    hops[:, HopColumn.TRAVELLING],
                    ready,
                )
            ),
            strict=True,
        )
    )
    brokers, own = hops[:, HopColumn.BROKER].tolist(), hops[:, HopColumn.OWN].tolist()
    free = [_FIRST] * (max(brokers, default=0) + 1)  # until when each broker is occupied
    # Of each link: the group of messages that left last, when the one ahead of it was written, when the last one was;
    # until when the rate serves, and when the last one was through.
    left_at, ahead, written, served, through = ([_FIRST] * len(links) for _ in range(5))
    turns = [UNKNOWN] * len(hops)
    while heap:
        time, hop = heappop(heap)
        broker = brokers[hop]
        turns[hop] = free[broker] = time = max(time, free[broker]) + own[hop]
        for effect, on, entered, left, writing, serialised, travelling, rest in effects[begins[hop] : begins[hop + 1]]:
            if left != left_at[on]:
                left_at[on], ahead[on] = left, written[on]
            write = max(time + entered, ahead[on]) + writing
            written[on] = max(written[on], write)
            served[on] = max(write, served[on]) + serialised
            through[on] = due = max(served[on] + travelling, through[on])
            heappush(heap, (due + rest, effect))
    return np.array(turns, dtype=np.int64)


def _causes(hops: Numbers, waits: Waits) -> tuple[Numbers, Numbers]:
    """The hop in whose turn the sender put each into the queue, or `NOBODY`, and the time after that turn, less the
    sender's waiting for a processor."""
    cause = np.full(len(hops), NOBODY, dtype=np.int64)
    for sender in np.unique(hops[:, HopColumn.SENDER]).tolist():
        turns = np.flatnonzero(hops[:, HopColumn.BROKER] == sender)
        sent = np.flatnonzero(hops[:, HopColumn.SENDER] == sender)
        if sender == NOBODY or not len(turns):
            continue
        last = np.searchsorted(hops[turns, HopColumn.TURN], hops[sent, HopColumn.ENTERED], side="right") - 1
        cause[sent] = np.where(last < 0, NOBODY, turns[last])
    turn, entered = hops[cause, HopColumn.TURN], hops[:, HopColumn.ENTERED]
    after = entered - turn - waits.of(likely, hops[:, HopColumn.SENDER], turn, entered)
    return cause, np.where(cause == NOBODY, 0, after)


def _in_turn(hops: Numbers, most: int) -> Numbers:
    """The column `READY`, so much later that messages which were handled behind others were not ready before these, but
    not later than `most`: a message that contention held up is handled behind others that came later."""
    ready = hops[:, HopColumn.READY].copy()
    for broker in np.unique(hops[:, HopColumn.BROKER]).tolist():
        own = hops[:, HopColumn.BROKER] == broker
        due = hops[own, HopColumn.DUE]
        behind = np.maximum.accumulate(due + ready[own]) - due
        ready[own] = np.clip(behind, ready[own], np.maximum(ready[own], most))
    return ready
