"""Dissemination of news from one broker to the parties around it, until all that can be reached have acknowledged them.

1. News of the broker's own leaf are passed on to all parties: the neighbouring nodes, and the brokers of its node. News
   from a neighbouring node are passed on to all others. News from a broker of the same node are passed on to nobody,
   because the sender does that.
2. News are acknowledged when this broker has them and all these parties have acknowledged them. A party that lacks them
   and is not sent them already is offered this broker's vector.
3. A node of which no broker can be reached, not by a detour either, is not waited for, once the search for a detour has
   had its time. But news of the broker's own leaf wait while none of the parties can be reached.
4. News of the own leaf have *settled* when no party lacks them, and no neighbour that has come up either. That is true
   of one moment only, because a party that was not waited for may be reached again. So a time of the own leaf that was
   announced before can be awaited again, which costs messages only where a party lacks it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from broker_service.messages import BrokerId
from broker_service.routing.gryphon.overlay import LocalView, NodeNumber
from broker_service.routing.gryphon.propagation.messages import Settled
from broker_service.routing.gryphon.propagation.parties import Exchanges, Parties, Standing, send
from broker_service.routing.gryphon.timer_keys import GiveUp, Party
from broker_service.routing.gryphon.virtual_time import Vector, VirtualTime, dominates, encode_vector
from broker_service.routing.interface import Action, CancelTimer, SetTimer

MOST_REQUESTS: Final = 1_000
"""News of which the sender awaits an acknowledgement. Beyond, the oldest are left to the sender's repetition."""


@dataclass(slots=True)
class Request:
    """News that are to be acknowledged once this broker and the parties have them."""

    requester: BrokerId
    """Broker that awaits the acknowledgement; empty for news of the own leaf, and when that broker cannot be reached
    any more."""
    needed: Vector
    parties: tuple[Party, ...]
    known: bool = False
    """True once this broker has the news, which it keeps."""


class Dissemination:
    """News at one broker that parties around it have not all acknowledged."""

    def __init__(
        self,
        view: LocalView,
        known: Vector,
        exchanges: Exchanges,
        parties: Parties,
        *,
        lost_after: Callable[[], float],
    ) -> None:
        """`known` is the broker's V_b, a live view. A neighbour that cannot be reached is given up after the seconds
        that `lost_after` returns."""
        self._view = view
        self._known = known
        self._exchanges = exchanges
        self._parties = parties
        self._lost_after = lost_after
        self._lost: set[BrokerId] = set(view.leaves)
        """Neighbours that cannot be reached and have not been given up."""
        self._begun = False
        """True once a neighbour could be reached."""
        self._requests: list[Request] = []
        self._own: Request | None = None
        """The latest news of the own leaf, until they have settled; the parties that have acknowledged these have
        acknowledged all before."""
        self.settled_time: VirtualTime = 0
        """The greatest time of the own leaf that has settled and was not taken; 0 when there is none."""

    @property
    def is_settled(self) -> bool:
        """True when all that can be reached has acknowledged all news that came through this broker."""
        return not self._requests

    def request(self, request: Request) -> None:
        """Awaits the parties of a request. `evaluate` brings them on their way."""
        self._requests.append(request)
        leaf, own = self._view.leaf, self._own
        if leaf in request.needed and (own is None or own.needed[leaf] <= request.needed[leaf]):
            self._own = request
        if len(self._requests) > MOST_REQUESTS:
            self._requests.remove(next(each for each in self._requests if each is not self._own))

    def await_again(self, times: Iterable[VirtualTime]) -> list[Action]:
        """Awaits the greatest of those times of the own leaf that were announced before and are not awaited already. A
        broker that has this one has the others, too."""
        leaf = self._view.leaf
        announced, awaited = self._known.get(leaf, 0), {request.needed.get(leaf) for request in self._requests}
        greatest = max((time for time in times if time <= announced and time not in awaited), default=0)
        if not greatest:
            return []
        self.request(Request("", {leaf: greatest}, self._parties.all))
        return self.evaluate()

    def take_settled_time(self) -> VirtualTime:
        """The greatest time of the own leaf that has settled since this was asked last; 0 when none has."""
        time, self.settled_time = self.settled_time, 0
        return time

    def link_up(self, neighbour: BrokerId, node: NodeNumber) -> list[Action]:
        """Offers a neighbour what is known here."""
        self._lost.discard(neighbour)
        actions: list[Action] = [CancelTimer(GiveUp(neighbour))]
        if not self._begun:
            self._begun = True
            actions += [self._give_up_later(other) for other in sorted(self._lost)]
        return [*actions, *self._parties.offer_all(neighbour, node), *self.evaluate()]

    def link_down(self, neighbour: BrokerId) -> list[Action]:
        """Offers to the next brokers of the node what was on the way to this one."""
        self._lost.add(neighbour)
        for request in self._requests:
            if request.requester == neighbour:
                request.requester = ""
        return [*self._parties.cut_off(neighbour), self._give_up_later(neighbour), *self.evaluate()]

    def repeat(self, party: Party) -> list[Action]:
        """The timer of a party has run out. Parties of which nobody can be reached may hold requests back no more."""
        if not self._exchanges[party].owed:
            return []
        return self._parties.repeat(party) or self.evaluate()

    def give_up(self, neighbour: BrokerId) -> list[Action]:
        """Waits no longer for a neighbour, unless it can be reached again."""
        self._lost.discard(neighbour)
        return self.evaluate()

    def _give_up_later(self, neighbour: BrokerId) -> Action:
        return SetTimer(GiveUp(neighbour), self._lost_after(), awaited=True)

    def evaluate(self) -> list[Action]:
        """Brings the parties of all requests on their way, and acknowledges requests whose parties have everything."""
        actions: list[Action] = []
        waiting = []
        for request in self._requests:
            if not request.known:
                request.known = dominates(self._known, request.needed)
                if not request.known:
                    waiting.append(request)
                    continue
            lacking = [party for party in request.parties if not self._advance(party, request, actions)]
            is_own = self._view.leaf in request.needed
            if lacking or (is_own and self._holds_back(request)):
                waiting.append(request)
            elif is_own:
                self.settled_time = max(self.settled_time, request.needed[self._view.leaf])
                if request is self._own:
                    self._own = None
            elif request.requester:
                actions.append(send(request.requester, Settled(encode_vector(request.needed))))
        self._requests = waiting
        return actions

    def _advance(self, party: Party, request: Request, actions: list[Action]) -> bool:
        """Has a party sent what it lacks of a request; true when it lacks nothing, or is given up."""
        standing = self._exchanges.standing(party, request.needed)
        if standing is Standing.ACKNOWLEDGED:
            return True
        if not self._parties.target(party):
            return not any(broker in self._lost for broker in self._parties.candidates(party))
        if standing is Standing.LACKING:
            actions += self._parties.owe(party, request.needed)
        return False

    def _holds_back(self, request: Request) -> bool:
        """True while news of the own leaf that no party lacks have not settled: no party can be reached, or a neighbour
        that has come up has not acknowledged what was offered to it then (rule 4)."""
        if request.parties and not any(map(self._parties.target, request.parties)):
            return True
        leaf, offered = self._view.leaf, (self._exchanges[party] for party in self._exchanges if party.member)
        time = request.needed[leaf]
        return any(each.acknowledged.get(leaf, 0) < min(time, each.owed.get(leaf, 0)) for each in offered)
