"""Parties around a broker, and the exchanges with them: what each has acknowledged, and what is on the way to it.

A *party* is a neighbouring node, of which any member will do; a broker of the same node; or a certain broker whose link
has just come up. An exchange ends when the party has acknowledged all it is owed. Until then an awaited timer runs, by
which the sender repeats its offer, to the next member where there are several. The first wait is `again` and twice the
time that the party took lately, but at least twice the round trip to the broker that is sent to, because offers that
cannot have been answered yet would fill a link with a small window, and hold up the states that are asked for. Each
further wait is twice as long as the one before, up to `last`. The end of a link that was dialled knows no round trip
before the answer to its first frame has come, and assumes one. An acknowledgement that ends an exchange answers the
latest news or offer that is at least a round trip old: counted from the first one, further news and messages that got
lost would make each later exchange wait.

A party is sent what it lacks through one of its brokers that can be reached. Another one is chosen when that broker
fails, or does not answer.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from broker_service.messages import BrokerId, Kind, Message
from broker_service.routing.common.decoding import encode_header
from broker_service.routing.gryphon.overlay import LocalView, NodeNumber
from broker_service.routing.gryphon.propagation.messages import LABELS, Control, News, Offer
from broker_service.routing.gryphon.timer_keys import Party
from broker_service.routing.gryphon.virtual_time import (
    Leaf,
    Vector,
    VirtualTime,
    dominates,
    encode_vector,
    part_of,
    raise_to,
)
from broker_service.routing.interface import Action, CancelTimer, Send, SetTimer

_SHARE = 0.125
"""Weight of the latest measurement in the mean of a party's times, as that of round trips in TCP."""
_UNMEASURED = 0.5
"""Seconds of a round trip that has not been measured: twice as long is the first timeout of TCP (rule 2.1 of RFC
6298)."""


class Standing(enum.Enum):
    """Stages of a party's progress with a vector."""

    ACKNOWLEDGED = enum.auto()
    OWED = enum.auto()
    """All that the party has not acknowledged is on the way."""
    LACKING = enum.auto()


@dataclass(slots=True)
class Exchange:
    """The exchange with one party."""

    acknowledged: dict[Leaf, VirtualTime] = field(default_factory=dict)
    owed: dict[Leaf, VirtualTime] = field(default_factory=dict)
    """On the way; empty when all is acknowledged."""
    target: BrokerId = ""
    sent: float = 0.0
    """The time of the latest news or offer."""
    former: float = 0.0
    """The time of the one before, if the latest is a repetition."""
    round_trip: float = 0.0
    """Seconds to the broker of the latest one and back."""
    wait: float = 0.0
    """Seconds until the next repetition."""
    usual: float = 0.0
    """Mean time in seconds that the party took to acknowledge."""


class Exchanges(dict[Party, Exchange]):
    """The exchanges with all parties; looking up one that has not begun makes it."""

    def __init__(self, again: float, last: float) -> None:
        super().__init__()
        self._again = again
        self._last = last

    def __missing__(self, party: Party) -> Exchange:
        exchange = self[party] = Exchange()
        return exchange

    def standing(self, party: Party, needed: Vector) -> Standing:
        """Progress of a party with a vector."""
        exchange, standing = self[party], Standing.ACKNOWLEDGED
        for leaf, time in needed.items():
            if exchange.acknowledged.get(leaf, 0) < time:
                if exchange.owed.get(leaf, 0) < time:
                    return Standing.LACKING
                standing = Standing.OWED
        return standing

    def owe(self, party: Party, needed: Vector, now: float, round_trip: float | None) -> float:
        """Notes that a vector is on the way to a party, with a round trip of these seconds; returns the seconds after
        which to repeat it."""
        exchange = self[party]
        exchange.sent = exchange.former = now
        exchange.round_trip = _UNMEASURED if round_trip is None else round_trip
        if not exchange.owed:
            exchange.wait = self._again + 2 * max(exchange.usual, exchange.round_trip)
            exchange.owed.update(needed)
        else:
            raise_to(exchange.owed, needed)
        return exchange.wait

    def repeat(self, party: Party, now: float, round_trip: float | None) -> float:
        """Notes that an offer is repeated; returns the seconds after which to repeat it once more."""
        exchange = self[party]
        exchange.former, exchange.sent = exchange.sent, now
        exchange.round_trip = expected(round_trip)
        exchange.wait = min(2 * exchange.wait, self._last)
        return exchange.wait

    def acknowledge(self, party: Party, known: Vector, now: float) -> bool:
        """Notes an acknowledgement; true when it ends the exchange."""
        exchange = self[party]
        raise_to(exchange.acknowledged, known)
        if not exchange.owed or not dominates(exchange.acknowledged, exchange.owed):
            return False
        took = now - exchange.sent
        if took < exchange.round_trip:
            took = now - exchange.former
        exchange.usual += _SHARE * (took - exchange.usual) if exchange.usual else took
        exchange.owed.clear()
        return True

    def forget(self, party: Party) -> None:
        """Ends the exchange with a party that has lost its state, or that is not a party any more."""
        self.pop(party, None)

    def suspend(self, party: Party) -> None:
        """Ends an exchange because no broker of the party can be reached."""
        self[party].owed.clear()


class Parties:
    """The parties around one broker, with the exchanges that it has with them."""

    def __init__(
        self,
        view: LocalView,
        known: Vector,
        exchanges: Exchanges,
        *,
        is_up: Callable[[BrokerId], bool],
        round_trip: Callable[[BrokerId], float | None],
        now: Callable[[], float],
    ) -> None:
        """`known` is the broker's V_b, a live view; `is_up` tells whether a neighbour can be reached, and `round_trip`
        in how many seconds, once that is known."""
        self._view = view
        self._known = known
        self._exchanges = exchanges
        self._is_up = is_up
        self._round_trip = round_trip
        self._now = now
        nodes, peers = [Party(node) for node in view.members], [Party(leaf) for leaf in view.peers.values()]
        self.all = (*nodes, *peers)
        """The neighbouring nodes and the brokers of the own node, which get news of the own leaf."""
        self.receivers: Mapping[BrokerId, tuple[Party, ...]] = dict.fromkeys(view.peers, ()) | {
            neighbour: tuple(party for party in self.all if party.node != node)
            for neighbour, node in view.node_of.items()
        }
        """Parties to which this broker passes on news of each neighbour (rule 1 of `dissemination`)."""

    def candidates(self, party: Party) -> Iterable[BrokerId]:
        """The brokers of a party."""
        if party.member:
            return (party.member,)
        if party.node in self._view.members:
            return self._view.members[party.node]
        return (broker for broker, leaf in self._view.peers.items() if leaf == party.node)

    def target(self, party: Party, former: BrokerId = "") -> BrokerId:
        """The broker to which messages for a party are sent: not `former` if there is another; empty when none can be
        reached."""
        exchange = self._exchanges[party]
        if exchange.target and not former and self._is_up(exchange.target):
            return exchange.target
        reachable = [broker for broker in self.candidates(party) if self._is_up(broker)]
        if not reachable:
            exchange.target = ""
        elif former in reachable:
            exchange.target = reachable[(reachable.index(former) + 1) % len(reachable)]
        elif exchange.target not in reachable:
            exchange.target = reachable[0]
        return exchange.target

    def pass_on(self, party: Party, news: News) -> list[Action]:
        """Sends a change to a party if it can be reached."""
        target = self.target(party)
        if not target:
            return []
        round_trip = self._round_trip(target)
        wait = self._exchanges.owe(party, {news.leaf: news.time}, self._now(), round_trip)
        return [send(target, news), SetTimer(party, wait, awaited=True)]

    def owe(self, party: Party, needed: Vector) -> list[Action]:
        """Offers a party what it lacks. Suspends the exchange when none of its brokers can be reached."""
        target = self.target(party)
        if not target:
            self._exchanges.suspend(party)
            return [CancelTimer(party)]
        round_trip = self._round_trip(target)
        wait = self._exchanges.owe(party, needed, self._now(), round_trip)
        return [*self._offers(party, target), SetTimer(party, wait, awaited=True)]

    def repeat(self, party: Party) -> list[Action]:
        """Offers a party again what it lacks, through another of its brokers if possible.

        Suspends the exchange and returns no actions when none of its brokers can be reached.
        """
        exchange = self._exchanges[party]
        target = self.target(party, exchange.target)
        if not target:
            self._exchanges.suspend(party)
            return []
        round_trip = self._round_trip(target)
        wait = self._exchanges.repeat(party, self._now(), round_trip)
        return [*self._offers(party, target), SetTimer(party, wait, awaited=True)]

    def acknowledged(self, neighbour: BrokerId, node: NodeNumber, known: Vector) -> list[Action]:
        """A neighbour has acknowledged a vector, for itself and for its node."""
        actions: list[Action] = []
        for member in ("", neighbour):
            party = Party(node, member)
            if party in self._exchanges and self._exchanges.acknowledge(party, known, self._now()):
                actions.append(CancelTimer(party))
        return actions

    def offer_all(self, neighbour: BrokerId, node: NodeNumber) -> list[Action]:
        """Offers a neighbour what is known here, if anything is."""
        view = self._view
        shared = view.before[node] if node in view.members else view.shared
        needed = part_of(self._known, shared)
        return self.owe(Party(node, neighbour), needed) if needed else []

    def offer_anew(self, neighbour: BrokerId, node: NodeNumber) -> list[Action]:
        """Offers a neighbour what is known here, though it may have acknowledged the vector before."""
        self._exchanges.forget(Party(node, neighbour))
        return self.offer_all(neighbour, node)

    def cut_off(self, neighbour: BrokerId) -> list[Action]:
        """A neighbour cannot be reached: offers to the next brokers of its node what was on the way to it."""
        actions: list[Action] = []
        for party in list(self._exchanges):
            exchange = self._exchanges[party]
            if party.member == neighbour:
                self._exchanges.forget(party)
                actions.append(CancelTimer(party))
            elif exchange.owed and exchange.target == neighbour:
                actions += self.owe(party, {})
        return actions

    def forget(self, node: NodeNumber) -> None:
        """The only broker of a node, or of a leaf, has lost its state."""
        for party in list(self._exchanges):
            if party.node == node:
                self._exchanges.forget(party)

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


def expected(round_trip: float | None) -> float:
    """Seconds that a message and its answer take, as far as is known."""
    return _UNMEASURED if round_trip is None else round_trip


def send(neighbour: BrokerId, control: Control) -> Send:
    """The action that sends a control message."""
    message = Message(Kind.CONTROL, "", header=encode_header(control), hops=1)
    return Send(neighbour, message, label=LABELS[type(control)], ahead=True)
