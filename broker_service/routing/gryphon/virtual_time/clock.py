"""Virtual time of a leaf: an integer clock that its subscription changes advance (sections 3.2 and 3.3).

1. The clock advances by one with each change that the leaf announces. Operations between two changes share a tick.
2. It never runs back, not even over a crash. Nothing is stored for that: the incarnation of the broker, which grows
   with every start, is the upper half of the time. The paper leaves the technique open.
3. The leaf has announced all that was before its present time: the latest change carries the time before it.
"""

from __future__ import annotations

from typing import Final

TICKS_BITS: Final = 32
"""Ticks of one incarnation, in bits of a virtual time."""
MOST_TIME: Final = (1 << 63) - 1

VirtualTime = int
"""Virtual time of a leaf; 0 is before every subscription."""


class VirtualClock:
    """The clock of one leaf."""

    def __init__(self, incarnation: int = 1) -> None:
        """`incarnation` is that of the leaf's broker, from 1. The first time of the first one is 1."""
        self.time: VirtualTime = ((incarnation - 1) << TICKS_BITS) + 1
        """The present time, at which subscriptions start that nothing covers; `advance` alone changes it."""

    @property
    def announced(self) -> VirtualTime:
        """Time of the latest change; in the first incarnation, 0 when there was none."""
        return self.time - 1

    def advance(self) -> VirtualTime:
        """Ends the present tick, and returns it."""
        ended = self.time
        self.time += 1
        return ended
