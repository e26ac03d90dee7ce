"""Contention of a rehearsal's turns for the processors of one host: many nodes over a few processors.

1. A node is one thread: its turns follow one another.
2. The turn that has waited longest gets the next processor that is free, and keeps it to its end.
3. A turn whose node sleeps begins with waking it up. One that the node comes to when it has ended another does not. So
   a burst that one wake-up carries costs less, and all that it wakes up in turn want processors at once. A node that is
   woken up also waits where a processor is free, for a time that passes while it waits for others, too.
4. A turn is *late* by the time from the moment at which it was ready in the rehearsal. A turn that it causes is late by
   as much before it waits itself.
5. A turn *waits* from the moment at which it is ready now, less what its node worked meanwhile. Contention is the
   waiting of all turns on a notification's way. What it waits behind earlier work of a node is backlog, also where
   waits made it longer, as in the budget of a run.

Where processors have more work than time, turns are later the longer the load lasts.
"""

from __future__ import annotations

import heapq
import sys
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
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
    waited: list[int]
    """Nanoseconds of the host for which each turn and all that it follows from waited for a processor."""
    worked: int
    """Nanoseconds of processor time of all turns."""


@dataclass(slots=True)
class _Node:
    """A node, after some turns."""

    busy_until: int = _NEVER
    """End of the last turn, which may be still to come."""
    waiting: deque[int] = field(default_factory=deque)
    """Places of turns that wait, in the order in which they came; of these the first one alone is due."""
    worked: int = 0
    """Nanoseconds of all turns, the last one to its end."""
    _latest: deque[tuple[int, int]] = field(default_factory=deque)
    """Begin and end of turns that had not ended at the last moment that was asked about."""
    _latest_work: int = 0
    """Nanoseconds of those turns."""

    def take(self, begin: int, work: int) -> None:
        """Takes a turn, which begins then."""
        self.busy_until = begin + work
        self.worked += work
        self._latest.append((begin, self.busy_until))
        self._latest_work += work

    def idle_until(self, moment: int) -> int:
        """The time until then in which it did not work, from a begin that is the same for all moments, which ascend."""
        while self._latest and self._latest[0][1] <= moment:
            begin, end = self._latest.popleft()
            self._latest_work -= end - begin
        begun = max(0, moment - self._latest[0][0]) if self._latest else 0  # turns after the first one begin later
        return moment - self.worked + self._latest_work - begun


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
    nodes: defaultdict[str, _Node] = defaultdict(_Node)
    idle: dict[int, int] = {}
    late, waited, worked = [0] * len(turns), [0] * len(turns), 0
    while due:
        moment, place = heapq.heappop(due)
        turn, work = turns[place], works[place]
        node = nodes[turn.node]
        begin = max(moment, free[0])
        if place not in idle:
            idle[place] = node.idle_until(moment)
            node.waiting.append(place)
        if node.waiting[0] != place:
            continue
        if node.busy_until > begin:
            heapq.heappush(due, (node.busy_until, place))  # turns of others come first while the node is busy
            continue
        node.waiting.popleft()
        takes = work.awake
        if node.busy_until != begin:
            takes, begin = work.asleep, max(begin, moment + work.waking)
        late[place] = begin - moments[place]
        before = waited[turn.cause] if turn.cause >= 0 else 0
        waited[place] = before + begin - node.worked - idle.pop(place)
        node.take(begin, takes)
        worked += takes
        heapq.heapreplace(free, begin + takes)
        if node.waiting:
            heapq.heappush(due, (moment, node.waiting[0]))
        for follower in caused.get(place, ()):
            heapq.heappush(due, (moments[follower] + late[place] + takes - work.asleep, follower))
    return Schedule(late, waited, worked)


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


def mean_of(ways: Sequence[Way], times: Sequence[int], dilation: float = 1.0) -> float:
    """The mean over ways of the times of their last turns, in seconds of the scenario; 0 without any."""
    return sum(times[way.turn] for way in ways) / len(ways) / dilation / 1e9 if ways else 0.0
