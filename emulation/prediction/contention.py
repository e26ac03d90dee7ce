"""Contention of a rehearsal's turns for the processors of one host: many nodes over a few processors.

1. A node is one thread: its turns follow one another.
2. The turn that has waited longest gets the next processor that is free, and keeps it to its end.
3. A turn whose node sleeps begins with waking it up. One that the node comes to when it has ended another does not. So
   a burst that one wake-up carries costs less, and all that it wakes up in turn want processors at once. A node that is
   woken up also waits where a processor is free, for a time that passes while it waits for others, too.
4. A turn is *late* by the time from the moment at which it was ready in the rehearsal. A turn that it causes is late by
   as much before it waits itself. Contention is the lateness beyond that with a processor for each node.

Where processors have more work than time, turns are later the longer the load lasts.
"""

from __future__ import annotations

import heapq
import sys
from collections.abc import Sequence
from typing import NamedTuple

from emulation.planning.calibration import Calibration
from emulation.prediction.turns import Turn, Way
from record.processors import RELAY

_NEVER = -sys.maxsize


class Work(NamedTuple):
    """Nanoseconds of processor time of one turn."""

    asleep: int
    """Time of a turn that wakes its node up."""
    awake: int
    """Time of one that follows another."""
    waking: int = 0
    """Nanoseconds that pass before a node that sleeps has its turn on a free processor."""


class Schedule(NamedTuple):
    """Turns as processors take them."""

    late: list[int]
    """Nanoseconds of the host by which each turn is late."""
    worked: int
    """Nanoseconds of processor time of all turns."""


def scheduled(turns: Sequence[Turn], works: Sequence[Work], processors: int, dilation: float = 1.0) -> Schedule:
    """The schedule of turns that take the times of `works`.

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
    late, worked = [0] * len(turns), 0
    while due:
        moment, place = heapq.heappop(due)
        turn = turns[place]
        begin = max(moment, free[0])
        busy_until = node_free.get(turn.node, _NEVER)
        if busy_until > begin:
            heapq.heappush(due, (busy_until, place))  # others come first while the node is busy
            continue
        if busy_until == begin:
            work = works[place].awake
        else:
            work, begin = works[place].asleep, max(begin, moment + works[place].waking)
        late[place] = begin - moments[place]
        node_free[turn.node] = end = begin + work
        worked += work
        heapq.heapreplace(free, end)
        for follower in caused.get(place, ()):
            heapq.heappush(due, (moments[follower] + late[place] + work - works[place].asleep, follower))
    return Schedule(late, worked)


def _moments(turns: Sequence[Turn], works: Sequence[Work], dilation: float) -> list[int]:
    """The moments at which turns are ready where none waits for another."""
    moments: list[int] = []
    for turn in turns:
        if turn.cause < 0:
            moments.append(round(turn.ready * dilation))
            continue
        cause = turns[turn.cause]
        between = max(0, turn.ready - cause.ready - cause.work)
        moments.append(moments[turn.cause] + works[turn.cause].asleep + round(between * dilation))
    return moments


def at_rest(turns: Sequence[Turn], ways: Sequence[Way], calibration: Calibration) -> float:
    """Nanoseconds of contention of a notification that no schedule shows, on average; 0 without any.

    A broker that is woken up waits for a processor that the node which woke it, the kernel or the emulator still has.
    The calibrated latencies hold such waits. Their mean is platform; what a message takes beyond that is contention. So
    is what latencies do not hold of the waits of its last broker, which the client's process interrupts.
    """
    if not ways:
        return 0.0
    passages: list[int] = []
    for turn in turns:
        before = passages[turn.cause] if turn.cause >= 0 else 0
        passages.append(before + (turn.node == RELAY))
    over_links = sum(passages[way.turn] for way in ways) / len(ways)
    excess = calibration.submit.excess + over_links * calibration.link.excess + calibration.notify.excess
    return excess + calibration.host.waking_beyond


def mean_lateness(ways: Sequence[Way], late: Sequence[int], dilation: float = 1.0) -> float:
    """Seconds of the scenario's time by which notifications are late on average; 0 without any."""
    return sum(late[way.turn] for way in ways) / len(ways) / dilation / 1e9 if ways else 0.0
