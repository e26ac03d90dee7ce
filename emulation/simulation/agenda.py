"""Virtual time: what is to happen, in the order of time, and of asking where times are equal."""

from __future__ import annotations

import heapq
from collections.abc import Callable

Call = Callable[[], None]

_WORK, _BACKGROUND = 1, 0


class UnsettledError(Exception):
    """Work goes on and on."""


class Agenda:
    """A heap of calls. Times are nanoseconds since the simulation began.

    *Work* is what moves messages; *background* is what happens for ever or much later whether or not anything moves:
    gauges, time-outs, late acknowledgements. Only work keeps an overlay from being settled.
    """

    __slots__ = ("_heap", "_number", "_working", "done", "now")

    def __init__(self) -> None:
        self.now = 0
        self.done = 0
        """Calls made so far."""
        self._heap: list[tuple[int, int, int, Call]] = []
        self._number = 0
        self._working = 0

    def clock(self) -> int:
        """The time, as a clock tells it."""
        return self.now

    def seconds(self) -> float:
        return self.now / 1e9

    def at(self, time: int, call: Call) -> None:
        """Work to be done at a time, which is not before `now`."""
        self._number += 1
        self._working += 1
        heapq.heappush(self._heap, (time, self._number, _WORK, call))

    def background(self, time: int, call: Call) -> None:
        """A call at a time that nobody waits for."""
        self._number += 1
        heapq.heappush(self._heap, (time, self._number, _BACKGROUND, call))

    @property
    def settled(self) -> bool:
        """Whether no work is left."""
        return not self._working

    def run_until(self, time: int) -> None:
        """Makes all calls up to and at this time; `now` is this time then."""
        heap = self._heap
        pop = heapq.heappop
        while heap and heap[0][0] <= time:
            self.now, _, weight, call = pop(heap)
            self._working -= weight
            self.done += 1
            call()
        self.now = max(self.now, time)

    def settle(self, within: int) -> None:
        """Makes calls until no work is left. Raises `UnsettledError` when that takes more than `within` nanoseconds."""
        heap = self._heap
        end = self.now + within
        while self._working:
            if heap[0][0] > end:
                raise UnsettledError(f"messages still move after {within / 1e9:g} seconds")
            self.now, _, weight, call = heapq.heappop(heap)
            self._working -= weight
            self.done += 1
            call()
