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

from broker_service.messages import BrokerId, Kind, Message
from broker_service.routing.common.decoding import encode_header
from broker_service.routing.gryphon.overlay.local_view import LocalView
from broker_service.routing.gryphon.overlay.routing_tree import NodeNumber
from broker_service.routing.gryphon.propagation.exchanges import Exchanges
from broker_service.routing.gryphon.propagation.messages import LABELS, Control, News, Offer, Settled
from broker_service.routing.gryphon.timer_keys import GiveUp, Party
from broker_service.routing.gryphon.virtual_time.clock import VirtualTime
from broker_service.routing.gryphon.virtual_time.vectors import Vector, dominates, encode_vector, part_of
from broker_service.routing.interface import Action, CancelTimer, Send, SetTimer

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


class Dissemination:
    """News at one broker that parties around it have not all acknowledged."""

    def __init__(
        self,
        view: LocalView,
        known: Vector,
        exchanges: Exchanges,
        *,
        is_up: Callable[[BrokerId], bool],
        now: Callable[[], float],
        lost_after: Callable[[], float],
    ) -> None:
        """`known` is the broker's V_b, a live view; `is_up` tells whether a neighbour can be reached. A neighbour that
        cannot be reached is given up after the seconds that `lost_after` returns."""
        self._view = view
        self._known = known
        self._exchanges = exchanges
        self._is_up = is_up
        self._now = now
        self._lost_after = lost_after
        self._lost: set[BrokerId] = set(view.leaves)
        """Neighbours that cannot be reached and have not been given up."""
        self._begun = False
        """True once a neighbour could be reached."""
        self._requests: list[Request] = []
        self._own: Request | None = None
        """The latest news of the own leaf, until they have settled; the parties that have acknowledged these have
        acknowledged all before."""
        self._settled_time: VirtualTime = 0
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
        self.request(Request("", {leaf: greatest}, self.others("")))
        return self.evaluate()

    def take_settled_time(self) -> VirtualTime:
        """The greatest time of the own leaf that has settled since this was asked last; 0 when none has."""
        time, self._settled_time = self._settled_time, 0
        return time

    def acknowledged(self, neighbour: BrokerId, node: NodeNumber, known: Vector) -> list[Action]:
        """A neighbour has acknowledged a vector."""
        actions: list[Action] = []
        for member in ("", neighbour):
            party = Party(node, member)
            if party in self._exchanges and self._exchanges.acknowledge(party, known, self._now()):
                actions.append(CancelTimer(party))
        return [*actions, *self.evaluate()]

    def link_up(self, neighbour: BrokerId, node: NodeNumber) -> list[Action]:
        """Offers a neighbour what is known here."""
        self._lost.discard(neighbour)
        actions: list[Action] = [CancelTimer(GiveUp(neighbour))]
        if not self._begun:
            self._begun = True
            actions += [self._give_up_later(other) for other in sorted(self._lost)]
        return [*actions, *self._offer_all(neighbour, node), *self.evaluate()]

    def offer_anew(self, neighbour: BrokerId, node: NodeNumber) -> list[Action]:
        """Offers a neighbour what is known here, though it may have acknowledged the vector before."""
        self._exchanges.forget(Party(node, neighbour))
        return self._offer_all(neighbour, node)

    def _offer_all(self, neighbour: BrokerId, node: NodeNumber) -> list[Action]:
        view = self._view
        shared = view.before[node] if node in view.members else view.shared
        needed = part_of(self._known, shared)
        return self._owe(Party(node, neighbour), needed) if needed else []

    def link_down(self, neighbour: BrokerId) -> list[Action]:
        """Offers to the next brokers of the node what was on the way to this one."""
        self._lost.add(neighbour)
        for request in self._requests:
            if request.requester == neighbour:
                request.requester = ""
        actions: list[Action] = []
        for party in list(self._exchanges):
            exchange = self._exchanges[party]
            if party.member == neighbour:
                self._exchanges.forget(party)
                actions.append(CancelTimer(party))
            elif exchange.owed and exchange.target == neighbour:
                actions += self._owe(party, {})
        return [*actions, self._give_up_later(neighbour), *self.evaluate()]

    def give_up(self, neighbour: BrokerId) -> list[Action]:
        """Waits no longer for a neighbour, unless it can be reached again."""
        self._lost.discard(neighbour)
        return self.evaluate()

    def _give_up_later(self, neighbour: BrokerId) -> Action:
        return SetTimer(GiveUp(neighbour), self._lost_after(), awaited=True)

    def forget(self, node: NodeNumber) -> None:
        """The only broker of a node, or of a leaf, has lost its state."""
        for party in list(self._exchanges):
            if party.node == node:
                self._exchanges.forget(party)

    def others(self, neighbour: BrokerId) -> tuple[Party, ...]:
        """All parties but the node of a neighbour."""
        node = self._view.node_of.get(neighbour)
        nodes = [Party(other) for other in self._view.members if other != node]
        return (*nodes, *(Party(leaf) for leaf in self._view.peers.values()))

    def receivers(self, neighbour: BrokerId) -> tuple[Party, ...]:
        """The parties that this broker passes news of a neighbour on to (rule 1)."""
        return () if neighbour in self._view.peers else self.others(neighbour)

    def evaluate(self) -> list[Action]:
        """Brings the parties of all requests on their way, and acknowledges requests whose parties have everything."""
        actions: list[Action] = []
        waiting = []
        for request in self._requests:
            if not dominates(self._known, request.needed):
                waiting.append(request)
                continue
            lacking = [party for party in request.parties if not self._advance(party, request, actions)]
            is_own = self._view.leaf in request.needed
            if lacking or (is_own and self._holds_back(request)):
                waiting.append(request)
            elif is_own:
                self._settled_time = max(self._settled_time, request.needed[self._view.leaf])
                if request is self._own:
                    self._own = None
            elif request.requester:
                actions.append(send(request.requester, Settled(encode_vector(request.needed))))
        self._requests = waiting
        return actions

    def _advance(self, party: Party, request: Request, actions: list[Action]) -> bool:
        """Has a party sent what it lacks of a request; true when it lacks nothing, or is given up."""
        exchanges = self._exchanges
        if exchanges.has(party, request.needed):
            return True
        if not self._target(party):
            return not any(broker in self._lost for broker in self._candidates(party))
        if not exchanges.is_owed(party, request.needed):
            actions += self._owe(party, request.needed)
        return False

    def _holds_back(self, request: Request) -> bool:
        """True while news of the own leaf that no party lacks have not settled: no party can be reached, or a neighbour
        that has come up has not acknowledged what was offered to it then (rule 4)."""
        if request.parties and not any(map(self._target, request.parties)):
            return True
        leaf, offered = self._view.leaf, (self._exchanges[party] for party in self._exchanges if party.member)
        time = request.needed[leaf]
        return any(each.acknowledged.get(leaf, 0) < min(time, each.owed.get(leaf, 0)) for each in offered)

    def pass_on(self, party: Party, news: News) -> list[Action]:
        """Sends a change to a party if it can be reached."""
        target = self._target(party)
        if not target:
            return []
        wait = self._exchanges.owe(party, {news.leaf: news.time}, self._now())
        return [send(target, news), SetTimer(party, wait, awaited=True)]

    def _owe(self, party: Party, needed: Vector) -> list[Action]:
        """Offers to a party what it lacks; ends the exchange when it cannot be reached."""
        target = self._target(party)
        if not target:
            self._exchanges.suspend(party)
            return [CancelTimer(party)]
        wait = self._exchanges.owe(party, needed, self._now())
        return [*self._offers(party, target), SetTimer(party, wait, awaited=True)]

    def repeat(self, party: Party) -> list[Action]:
        """The timer of a party has run out: offers again, to another broker if there is one."""
        exchange = self._exchanges[party]
        if not exchange.owed:
            return []
        target = self._target(party, exchange.target)
        if not target:
            self._exchanges.suspend(party)
            return self.evaluate()
        return [*self._offers(party, target), SetTimer(party, self._exchanges.repeat(party), awaited=True)]

    def _offers(self, party: Party, target: BrokerId) -> list[Action]:
        """Offers of all sources of which a party has not acknowledged what it is owed."""
        view = self._view
        if party.node in view.members:
            known = part_of(self._known, view.before[party.node])
            return [send(target, Offer(view.node, encode_vector(known)))]
        exchange = self._exchanges[party]
        lacking = [leaf for leaf, time in exchange.owed.items() if exchange.acknowledged.get(leaf, 0) < time]
        sources = dict.fromkeys(view.source_of[leaf] for leaf in lacking)
        return [
            send(target, Offer(source, encode_vector(part_of(self._known, view.behind[source])))) for source in sources
        ]

    def _target(self, party: Party, former: BrokerId = "") -> BrokerId:
        """The broker of a party to send to, another one than a former if possible; empty when none can be reached."""
        reachable = [broker for broker in self._candidates(party) if self._is_up(broker)]
        exchange = self._exchanges[party]
        if not reachable:
            exchange.target = ""
        elif former in reachable:
            exchange.target = reachable[(reachable.index(former) + 1) % len(reachable)]
        elif exchange.target not in reachable:
            exchange.target = reachable[0]
        return exchange.target

    def _candidates(self, party: Party) -> Iterable[BrokerId]:
        """The brokers of a party."""
        if party.member:
            return (party.member,)
        if party.node in self._view.members:
            return self._view.members[party.node]
        return (broker for broker, leaf in self._view.peers.items() if leaf == party.node)


def send(neighbour: BrokerId, control: Control) -> Send:
    """The action that sends a control message."""
    message = Message(Kind.CONTROL, "", header=encode_header(control), hops=1)
    return Send(neighbour, message, label=LABELS[type(control)], ahead=True)
