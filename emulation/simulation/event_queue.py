"""Virtual time: calls in the order of their times, and of their scheduling where times are equal."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from heapq import heappop, heappush
from operator import attrgetter
from typing import Final

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

    Every message asks for the time and for calls several times, so `clock` and `soon` are functions of the library.
    """

    __slots__ = ("_background", "_number", "_soon", "_until_look", "_work", "clock", "look", "now", "pending", "soon")

    def __init__(self) -> None:
        self.now = 0
        self.clock: Final[Callable[[], int]] = partial(attrgetter("now"), self)
        """The time in nanoseconds, for users of a clock."""
        self.pending = 0
        """Work that is not a call: awaited timers of routers, and requests of clients that are held back."""
        self._soon: deque[Call] = deque()
        self.soon: Final[Callable[[Call], None]] = self._soon.append
        """Schedules work at the present time, after the present call and before any other."""
        self._work: list[tuple[int, int, Call]] = []
        self._background: list[tuple[int, int, Call]] = []
        self._number = 0
        self.look: Call = do_nothing
        """Called now and then while calls are made, however little virtual time passes. It may raise."""
        self._until_look = _CALLS_BETWEEN_LOOKS

    def seconds(self) -> float:
        """The time in seconds."""
        return self.now / SECOND

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
        soon, work, background = self._soon, self._work, self._background
        while True:
            while soon:
                soon.popleft()()
            heap = background if not work or (background and background[0] < work[0]) else work
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
            following = self.now if self._soon else self.following()
            if following is None or following > end:
                one, many = "1 timer or held request is left", f"{self.pending} timers or held requests are left"
                moving = (one if self.pending == 1 else many) if self.pending else "messages still move"
                raise UnsettledError(f"the overlay does not settle: {moving} after {within / 1e9:g} seconds")
            self.run_until(following)

    def following(self) -> int | None:
        """The time of the next call; None when none is left."""
        work, background = self._work, self._background
        if work and background:
            return min(work[0][0], background[0][0])
        return work[0][0] if work else background[0][0] if background else None
