"""Contention of a rehearsal's turns for the processors of one host: many nodes over a few processors.

1. A node is one thread: its turns follow one another.
2. The turn that has waited longest gets the next processor that is free, and keeps it to its end.
3. A turn is *late* by the time from the moment at which it was ready in the rehearsal. A turn that it causes is late by
   as much before it waits itself. Contention is the lateness beyond that with a processor for each node.

Where processors have more work than time, turns are later the longer the load lasts.
"""

from __future__ import annotations

import heapq
import sys
from collections.abc import Sequence

from emulation.prediction.turns import Turn, Way

_NEVER = -sys.maxsize


def lateness(turns: Sequence[Turn], works: Sequence[int], processors: int, dilation: float = 1.0) -> list[int]:
    """The lateness of each turn, in nanoseconds of the host, where turns take the times of `works`.

    A dilation makes the time between a turn and the one that it causes that many times longer, and not the turns.
    """
    moments = _moments(turns, works, dilation)
    caused: dict[int, list[int]] = {}
    for place, turn in enumerate(turns):
        caused.setdefault(turn.cause, []).append(place)
    due = [(moments[place], place) for place in caused.get(-1, ())]
    heapq.heapify(due)
    free = [_NEVER] * processors
    node_free: dict[str, int] = {}
    late = [0] * len(turns)
    while due:
        moment, place = heapq.heappop(due)
        turn = turns[place]
        begin = max(moment, free[0])
        if (busy_until := node_free.get(turn.node, _NEVER)) > begin:
            heapq.heappush(due, (busy_until, place))  # others come first while the node is busy
            continue
        late[place] = begin - moments[place]
        node_free[turn.node] = end = begin + works[place]
        heapq.heapreplace(free, end)
        for follower in caused.get(place, ()):
            heapq.heappush(due, (moments[follower] + late[place], follower))
    return late


def _moments(turns: Sequence[Turn], works: Sequence[int], dilation: float) -> list[int]:
    """The moments at which turns are ready where none waits for another."""
    moments: list[int] = []
    for turn in turns:
        if turn.cause < 0:
            moments.append(round(turn.ready * dilation))
            continue
        cause = turns[turn.cause]
        between = max(0, turn.ready - cause.ready - cause.work)
        moments.append(moments[turn.cause] + works[turn.cause] + round(between * dilation))
    return moments


def mean_lateness(ways: Sequence[Way], late: Sequence[int], dilation: float = 1.0) -> float:
    """Seconds of the scenario's time by which notifications are late on average; 0 without any."""
    return sum(late[way.turn] for way in ways) / len(ways) / dilation / 1e9 if ways else 0.0
