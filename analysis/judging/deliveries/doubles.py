"""Notifications that a client got from its old broker and from its new one: doubles and order.

A handover may double a publication, or a set of publications, where the routing's manifest says so. Then each of the
two brokers may notify the client of it once, each while the client had a session with it. Whatever is got twice from
one broker, from a broker at which the client was not, or across a handover that doubles nothing, is *duplicated*. A
handover may cost the order between the two brokers, and never that of what one of them delivers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from analysis.judging.histories.history import History
from analysis.reading.stays import Stay
from record.handover import MoveCost, MoveCosts

Got = tuple[str | None, int]
"""The broker that notified a client, and the time in nanoseconds."""


@dataclass(frozen=True, slots=True)
class ClientMoves:
    """The moves of one client, as far as they explain what it got."""

    stays: Sequence[Stay] = ()
    """The stays of the client at brokers; empty for one that does not move."""
    costs: MoveCosts = field(default_factory=dict)
    """The cost of each handover."""
    lag: int = 0
    """Nanoseconds for which what is on its way when a client leaves in order may still come."""

    def may_double(self, got: Sequence[Got]) -> bool:
        """True when moves explain all of the client's notifications of one thing but the first."""
        stays = [self._stay_of(one) for one in got]
        if None in stays or len(set(stays)) < len(stays):
            return False
        crossed = self.stays
        places = sorted(crossed.index(stay) for stay in stays if stay is not None)
        if any(
            crossed[place].broker == crossed[before].broker for before, place in pairwise(places) if place - before > 1
        ):
            return False  # a broker that the client has come back to passes a publication on once
        handovers = [crossed[place].handover for place in range(places[0] + 1, places[-1] + 1)]
        return all(handover is not None and self.costs.get(handover, MoveCost()).doubles for handover in handovers)

    def reordering(self, got: Got) -> int | None:
        """The number of handovers that may cost the order which the client had behind it when it was notified; None
        where it had sessions with the broker both before and after such a one, and nothing tells which was used."""
        numbers = {self._reordering_before(stay) for stay in self._stays_of(got)}
        return None if len(numbers) > 1 else next(iter(numbers), 0)

    def _reordering_before(self, stay: Stay) -> int:
        crossed = self.stays[1 : self.stays.index(stay) + 1]
        costs = [self.costs.get(later.handover, MoveCost()) for later in crossed if later.handover is not None]
        return sum(cost.reorders for cost in costs)

    def _stay_of(self, got: Got) -> Stay | None:
        """The stay in which the client got a notification; None of one from a broker where it was not."""
        found = self._stays_of(got)
        return found[-1] if found else None

    def _stays_of(self, got: Got) -> Sequence[Stay]:
        broker, time = got
        return [stay for stay in self.stays if stay.broker == broker and stay.begin <= time <= stay.end + self.lag]


def moves_of(history: History, client: str) -> ClientMoves:
    """The moves of one client of a variant."""
    return ClientMoves(history.stays.of(client), history.move_costs, history.settling.within)
