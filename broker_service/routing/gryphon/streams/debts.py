"""Debts of a publishers' broker: the first position of its stream that each leaf is owed.

1. A leaf is owed all positions from the one on at which its element of the vectors rose, because it may have made
   subscriptions then. A leaf without subscriptions says up to which time it has none, and is owed nothing until its
   element is beyond that time. Subscriptions end with the incarnation of their broker.
2. A leaf that cannot be reached holds up nobody else. What it is owed is *given up* once it could not be reached for
   `forget_after` seconds, and what is beyond its share of the log before.
3. What was given up is lost for the leaf. It is told so when it can be reached again, and the broker remembers it
   until the leaf has acknowledged it.
"""

from __future__ import annotations

from collections.abc import Mapping

from broker_service.routing.gryphon.virtual_time import TICKS_BITS, Leaf, Vector, VirtualTime


class Debts:
    """The debts of one publishers' broker to all leaves."""

    def __init__(self, forget_after: float) -> None:
        self.given_up = 0
        """Positions before this one are not kept any more, though some leaf may be owed them."""
        self._forget_after = forget_after
        self._owed: dict[Leaf, int] = {}
        """The first position that each leaf is owed."""
        self._unreachable: dict[Leaf, float] = {}
        """Time at which each unreachable leaf was first reported, in seconds."""

    def recover(self, leaves: Vector, first: int, lost: Mapping[Leaf, int]) -> None:
        """All leaves are owed what is kept, from the first position on; some have lost positions before."""
        self._owed = dict.fromkeys(leaves, first) | dict(lost)
        if lost:
            self.given_up = first

    def rise(self, former: Vector, vector: Vector, position: int) -> None:
        """Records that publications have the vector `vector` from a position on, instead of `former` (rule 1)."""
        for leaf, time in vector.items():
            before = former.get(leaf, 0)
            if time >> TICKS_BITS != before >> TICKS_BITS:
                self._unreachable.pop(leaf, None)
                self._owed[leaf] = position
            elif time > before:
                self._owed.setdefault(leaf, position)

    def acknowledge(self, leaf: Leaf, position: int, now: float) -> None:
        """A leaf has all positions before one; it cannot be reached when that is 0."""
        if leaf not in self._owed:
            return
        if not position:
            self._unreachable.setdefault(leaf, now)
            return
        self._unreachable.pop(leaf, None)
        self._owed[leaf] = max(self._owed[leaf], position)

    def dismiss(self, leaf: Leaf, time: VirtualTime, latest: Vector) -> None:
        """A leaf has no subscription of this time or before; `latest` is the latest vector of the stream."""
        if latest.get(leaf, 0) <= time:
            self._unreachable.pop(leaf, None)
            self._owed.pop(leaf, None)

    def lacking(self, end: int) -> list[Leaf]:
        """Leaves that have not acknowledged all positions before an end."""
        return [leaf for leaf, position in self._owed.items() if position < end]

    def lacks(self, end: int) -> bool:
        """True when some leaf has not acknowledged all positions before an end."""
        return any(position < end for position in self._owed.values())

    def is_reachable(self, leaf: Leaf) -> bool:
        """False for a leaf that was reported to be out of reach."""
        return leaf not in self._unreachable

    def owed(self, leaf: Leaf) -> int | None:
        """The first position that a leaf is owed; None for one that is owed nothing."""
        return self._owed.get(leaf)

    def slowest(self, now: float) -> Leaf | None:
        """A leaf that is owed most and has not been given up; None when no leaf is owed anything."""
        waited_for = [leaf for leaf in self._owed if now - self._unreachable.get(leaf, now) < self._forget_after]
        return min(waited_for, key=self._owed.__getitem__, default=None)

    def in_reach(self, end: int) -> int:
        """The first position that some leaf which can be reached is owed; an end when there is none."""
        return min((place for leaf, place in self._owed.items() if leaf not in self._unreachable), default=end)

    @property
    def lost(self) -> dict[Leaf, int]:
        """The first position owed to each leaf for which something was given up."""
        return {leaf: position for leaf, position in self._owed.items() if position < self.given_up}
