"""Requests for the states of sources that a broker lacks (rules 4 and 8 of `propagation`).

A request is repeated, to the next broker that may have the state, after twice the time in which the one that was asked
can answer, and twice as long each time that none does. It ends when the state is there, or when nobody can be asked: a
link that comes up brings an offer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from broker_service.messages import BrokerId
from broker_service.routing.gryphon.overlay import LocalView, NodeNumber
from broker_service.routing.gryphon.propagation.messages import Ask
from broker_service.routing.gryphon.propagation.parties import expected, send
from broker_service.routing.gryphon.timer_keys import AskAgain
from broker_service.routing.gryphon.virtual_time import Leaf, Vector, VirtualTime, dominates, raise_to
from broker_service.routing.interface import Action, CancelTimer, SetTimer

_MOST_DOUBLINGS: Final = 9
"""Doublings of the wait for a state."""


@dataclass(slots=True)
class _Wanted:
    """The state of a source that is wanted."""

    needed: dict[Leaf, VirtualTime]
    """The vector that news were about which this broker could not apply."""
    asked: int = 0
    """Repeated requests."""
    unanswered: int = 0
    """Requests since a state came."""
    refused: int = 0
    """States that could not be taken."""
    renews: bool = False
    """True where roots are wanted anew, though the vector is reached."""


class Asking:
    """The requests of one broker for states of sources that it lacks."""

    def __init__(
        self,
        view: LocalView,
        known: Vector,
        *,
        ask_after: float,
        is_up: Callable[[BrokerId], bool],
        round_trip: Callable[[BrokerId], float | None],
    ) -> None:
        """`known` is the broker's V_b, a live view; `ask_after` is in seconds, the wait besides round trips."""
        self._view = view
        self._known = known
        self._ask_after = ask_after
        self._is_up = is_up
        self._round_trip = round_trip
        self.wanted: dict[NodeNumber, _Wanted] = {}
        """States that are wanted, by source."""

    def want(self, source: NodeNumber, needed: Vector) -> list[Action]:
        """Asks for the state of a source after a moment, unless it is wanted already."""
        if source in self.wanted:
            return []
        self.wanted[source] = _Wanted(dict(needed))
        return [SetTimer(AskAgain(source), self._ask_after, awaited=True)]

    def ask(self, source: NodeNumber, needed: Vector, neighbour: BrokerId) -> list[Action]:
        """Asks for the state of a source at once, unless it is wanted already."""
        if source in self.wanted:
            raise_to(self.wanted[source].needed, needed)
            return []
        wanted = self.wanted[source] = _Wanted(dict(needed))
        return self._send(source, wanted, neighbour)

    def renew(self, source: NodeNumber, neighbour: BrokerId) -> list[Action]:
        """Asks for the state of a source whose vector is reached, at once, unless it is wanted already."""
        actions = self.ask(source, {}, neighbour)
        self.wanted[source].renews = True
        return actions

    def took(self, source: NodeNumber) -> None:
        """A state of a source came and was taken."""
        if (wanted := self.wanted.get(source)) is not None:
            wanted.renews = False

    def again(self, source: NodeNumber) -> list[Action]:
        """The time of a request has run out."""
        wanted = self.wanted.get(source)
        if wanted is None:
            return []
        candidates = [*self._view.members.get(source, ()), *self._view.peers]
        reachable = [broker for broker in candidates if self._is_up(broker)]
        if not reachable:
            del self.wanted[source]
            return []
        neighbour = reachable[wanted.asked % len(reachable)]
        wanted.asked += 1
        return self._send(source, wanted, neighbour)

    def refuse(self, source: NodeNumber) -> int:
        """A state of a source came and cannot be taken. Returns the number of such states since it is wanted."""
        wanted = self.wanted.get(source)
        if wanted is None:
            return 0
        wanted.unanswered = 0
        wanted.refused += 1
        return wanted.refused

    def end(self) -> list[Action]:
        """Ends the requests for states that are wanted no more."""
        reached = [
            source
            for source, wanted in self.wanted.items()
            if not wanted.renews and dominates(self._known, wanted.needed)
        ]
        for source in reached:
            del self.wanted[source]
        return [CancelTimer(AskAgain(source)) for source in reached]

    def _send(self, source: NodeNumber, wanted: _Wanted, neighbour: BrokerId) -> list[Action]:
        wait = (self._ask_after + 2 * expected(self._round_trip(neighbour))) * (1 << wanted.unanswered)
        wanted.unanswered = min(wanted.unanswered + 1, _MOST_DOUBLINGS)
        return [send(neighbour, Ask(source)), SetTimer(AskAgain(source), wait, awaited=True)]
