"""An overlay that changes while it runs: its links appear and vanish at their times, on hosts and in virtual time.

A record of the log is written for each change once it is made, with its duration and the time at which it was due.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator

from broker_service.tracing.trace import Trace
from emulation.live_overlay.contract import LiveLinks
from record.log import Event, TraceRecord
from record.time_units import SECOND
from topology.evolutions.evolution import Appears, Change, Vanishes


class OverlayMotion:
    """Changes of an overlay's links that are still to come. Times are nanoseconds of the run's clock."""

    def __init__(self, changes: Iterable[Change], links: LiveLinks, trace: Trace, clock: Callable[[], int]) -> None:
        """`changes` are in the order of their times, which count from the begin of the workload."""
        self._left = deque(changes)
        self._links = links
        self._trace = trace
        self._clock = clock
        self._start = 0

    def begin(self, start: int) -> None:
        """The workload begins at this time."""
        self._start = start

    @property
    def next_time(self) -> int | None:
        """Time of the next change; None after the last one."""
        return self.time_of(self._left[0]) if self._left else None

    def time_of(self, change: Change) -> int:
        """Time at which a change is due."""
        return self._start + round(change.at * SECOND)

    def due(self) -> Iterator[Change]:
        """The changes that are due by now and have not been given before, in order."""
        now = self._clock()
        while (due := self.next_time) is not None and due <= now:
            yield self._left.popleft()

    def carry_out(self, change: Change) -> None:
        """Makes a change and writes it down. Raises `HostError` when the host refuses."""
        begin = self._clock()
        match change:
            case Appears(_, link):
                event, peer = Event.APPEARED, f"{link.a}-{link.b}"
                self._links.add(link)
            case Vanishes(_, a, b):
                event, peer = Event.VANISHED, f"{a}-{b}"
                self._links.remove(a, b)
        self._trace.write(
            TraceRecord(
                time=begin,
                node=self._trace.node,
                variant=self._trace.variant,
                event=event,
                peer=peer,
                duration=self._clock() - begin,
                intended=self.time_of(change),
            )
        )
