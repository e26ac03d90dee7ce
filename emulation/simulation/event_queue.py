"""Virtual time: calls in the order of their times, and of their scheduling where times are equal."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable
from functools import partial
from heapq import heappop, heappush

from emulation.live_overlay.contract import UnsettledError

Call = Callable[[], None]


class EventQueue:
    """A heap of calls. Times are nanoseconds since the simulation began.

    *Work* is any call that moves messages; *background* calls happen for ever, or much later, whether or not messages
    move: gauges, time-outs, late acknowledgements. Only work keeps an overlay from being settled, and what is
    `pending`.
    """

    __slots__ = ("_background", "_heap", "_number", "_soon", "now", "pending")

    def __init__(self) -> None:
        self.now = 0
        self.pending = 0
        """Work that is not a call: awaited timers of routers, and requests of clients that are held back."""
        self._soon: deque[Call] = deque()
        self._heap: list[tuple[int, int, Call]] = []
        self._number = 0
        self._background = 0
        """Background calls in the heap, which are counted because they are far fewer than the others."""

    def clock(self) -> int:
        """The time in nanoseconds, for users of a clock."""
        return self.now

    def seconds(self) -> float:
        """The time in seconds."""
        return self.now / 1e9

    def soon(self, call: Call) -> None:
        """Schedules work at the present time, after the present call and before any other."""
        self._soon.append(call)

    def at(self, time: int, call: Call) -> None:
        """Schedules work at a time, which is not before `now`."""
        self._number = number = self._number + 1
        heappush(self._heap, (time, number, call))

    def background(self, time: int, call: Call) -> None:
        """Schedules a call that is not waited for."""
        self._background += 1
        self.at(time, partial(self._make_background, call))

    @property
    def settled(self) -> bool:
        """True when no work is left."""
        return len(self._heap) == self._background and not self._soon and not self.pending

    def run_until(self, time: int) -> None:
        """Makes all calls up to and at this time; `now` is this time then."""
        heap, soon = self._heap, self._soon
        while True:
            while soon:
                soon.popleft()()
            if not heap or heap[0][0] > time:
                break
            self.now, _, call = heappop(heap)
            call()
        self.now = max(self.now, time)

    def settle(self, within: int) -> None:
        """Makes calls until no work is left. Raises `UnsettledError` when that takes more than `within` nanoseconds."""
        end = self.now + within
        while not self.settled:
            following = self.now if self._soon else self._heap[0][0] if self._heap else sys.maxsize
            if following > end:
                moving = f"{self.pending} timers or held requests are left" if self.pending else "messages still move"
                raise UnsettledError(f"the overlay does not settle: {moving} after {within / 1e9:g} seconds")
            self.run_until(following)

    def _make_background(self, call: Call) -> None:
        self._background -= 1
        call()
