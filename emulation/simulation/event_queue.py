"""Virtual time: calls in the order of their times, and of their scheduling where times are equal."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush

from emulation.live_overlay.contract import UnsettledError
from record.callbacks import do_nothing
from record.time_units import SECOND

Call = Callable[[], None]

_CALLS_BETWEEN_LOOKS = 1024
"""Hundredths of a second on a busy overlay: a signal is obeyed at once, and a look costs next to nothing."""


class EventQueue:
    """Two heaps of calls. Times are nanoseconds since the simulation began.

    *Work* is any call that moves messages; *background* calls happen for ever, or much later, whether or not messages
    move: gauges, time-outs, late acknowledgements. Only work keeps an overlay from being settled, and what is
    `pending`. Background calls have a heap of their own because thousands of them wait while each message passes
    through the other one, which stays small.
    """

    __slots__ = ("_background", "_number", "_soon", "_until_look", "_work", "look", "now", "pending")

    def __init__(self) -> None:
        self.now = 0
        self.pending = 0
        """Work that is not a call: awaited timers of routers, and requests of clients that are held back."""
        self._soon: deque[Call] = deque()
        self._work: list[tuple[int, int, Call]] = []
        self._background: list[tuple[int, int, Call]] = []
        self._number = 0
        self.look: Call = do_nothing
        """Called now and then while calls are made, however little virtual time passes. It may raise."""
        self._until_look = _CALLS_BETWEEN_LOOKS

    def clock(self) -> int:
        """The time in nanoseconds, for users of a clock."""
        return self.now

    def seconds(self) -> float:
        """The time in seconds."""
        return self.now / SECOND

    def soon(self, call: Call) -> None:
        """Schedules work at the present time, after the present call and before any other."""
        self._soon.append(call)

    def at(self, time: int, call: Call) -> None:
        """Schedules work at a time, which is not before `now`."""
        self._number = number = self._number + 1
        heappush(self._work, (time, number, call))

    def after(self, seconds: float, call: Call) -> None:
        """Schedules work so many seconds from now."""
        self.at(self.now + round(seconds * SECOND), call)

    def background(self, time: int, call: Call) -> None:
        """Schedules a call that is not waited for."""
        self._number = number = self._number + 1
        heappush(self._background, (time, number, call))

    @property
    def settled(self) -> bool:
        """True when no work is left."""
        return not (self._work or self._soon or self.pending)

    def run_until(self, time: int) -> None:
        """Makes all calls up to and at this time; `now` is this time then."""
        soon = self._soon
        while True:
            while soon:
                soon.popleft()()
            heap = self._earlier()
            if not heap or heap[0][0] > time:
                break
            self.now, _, call = heappop(heap)
            call()
            self._until_look -= 1
            if not self._until_look:
                self._until_look = _CALLS_BETWEEN_LOOKS
                self.look()
        self.now = max(self.now, time)

    def settle(self, within: int) -> None:
        """Makes calls until no work is left.

        Raises `UnsettledError` when that takes more than `within` nanoseconds.
        """
        end = self.now + within
        while not self.settled:
            heap = self._earlier()
            following = self.now if self._soon else heap[0][0] if heap else end + 1
            if following > end:
                moving = f"{self.pending} timers or held requests are left" if self.pending else "messages still move"
                raise UnsettledError(f"the overlay does not settle: {moving} after {within / 1e9:g} seconds")
            self.run_until(following)

    def _earlier(self) -> list[tuple[int, int, Call]]:
        """The heap that holds the next call; an empty one when none is left."""
        work, background = self._work, self._background
        if not background:
            return work
        if not work:
            return background
        time, number, _ = work[0]
        other_time, other_number, _ = background[0]
        return background if other_time < time or (other_time == time and other_number < number) else work
