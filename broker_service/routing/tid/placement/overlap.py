"""The time for which a former join point goes on detecting a unit that has moved (section 4.4, which leaves it open).

A unit is made anew at another broker before it is unmade here, and no stored match travels:

1. The new join point subscribes to the parts in its own name. It asks the publishers' brokers, along the trees, to
   confirm that they have bound these subscriptions (`confirmation`), and reports the trees of which all have.
2. A publication of a confirmed tree that is made from then on reaches the new join point. A set of such publications is
   detected there. Any other set has a publication that was made before, so that its last one is made within the window
   from then, and arrives here within `lateness` after that, or is too late for any detector.
3. So this broker ceases when each tree that it knows has been confirmed by one and the same join point for the window
   and `lateness`. Sets that both brokers detect are the reason why a home remembers sets (`seen_sets`).

The same holds for each of several moves that overlap: a former join point detects every set that a later one may miss,
until that one has been confirmed. Handing over the stored matches instead would end the overlap a window earlier. It
would need the matches of a queue's length to travel and to be acknowledged, and publications to be passed on behind
them, while a failure in the middle leaves both brokers with a part. Here a move that fails costs nothing, because this
broker goes on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from broker_service.routing.tid.routes import TreeId


@dataclass(slots=True)
class _Confirmed:
    """Confirmations of one join point."""

    reported_at: float
    """Time of its first report."""
    confirmed_at: dict[TreeId, float] = field(default_factory=dict)


class Overlap:
    """Confirmations that a former join point has learned of. Times are in seconds."""

    def __init__(self) -> None:
        self._by_move: dict[int, _Confirmed] = {}
        """Confirmations of each join point, by the number of the move that led to it."""

    def report(self, move: int, trees: Iterable[TreeId], now: float) -> None:
        """The join point after a move knows these trees, all of which are confirmed."""
        confirmed = self._by_move.setdefault(move, _Confirmed(now))
        for tree in trees:
            confirmed.confirmed_at.setdefault(tree, now)

    def ends_at(self, trees: Collection[TreeId], span: float) -> float | None:
        """Time at which the overlap ends, for a broker that knows these trees; None while that is not known.

        `span` is the window and the lateness together.
        """
        ends = [
            max([confirmed.reported_at, *(confirmed.confirmed_at[tree] for tree in trees)]) + span
            for confirmed in self._by_move.values()
            if all(tree in confirmed.confirmed_at for tree in trees)
        ]
        return min(ends, default=None)
