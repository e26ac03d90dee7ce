"""Propagation of subscriptions over the redundant tree, at one broker (sections 3.4 and 4).

1. The broker's state is, for each source around it, the source's roots, and V_b, with an element for each leaf behind
   the source. At all times the roots cover every active subscription that V_b stands for.
2. A change of a leaf travels away from it over the whole tree, because every leaf is the root of a tree for
   publishers. It goes to one broker of each neighbouring node. That one passes it to the other brokers of its node as
   it is, and makes a change of its own roots for each further node; one that is empty travels as well, because it
   carries the time.
3. A change that only adds roots and was aggregated nowhere is an *addition*; it applies to every state that has the
   leaf's former changes. Any other change names the state that it starts from, by vector and fingerprint, and applies
   to this one only. The paper has a lower bound in its place, which is unsafe (`messages`).
4. A broker that cannot apply a change asks its sender for the source's state, and repeats that with other brokers that
   may have it. It takes a state whose vector is not below its own in any element. Until then its V_b stays as it is, so
   that publications are sent regardless of its roots.
5. *(Not in the paper.)* A receiver acknowledges news when it and all that it has passed them to have them. A sender
   that gets no acknowledgement offers its vector to the next broker of the node, which asks for what it lacks. The
   paper's leaves notice a lost change by the vectors of later publications, if there are any. Nodes of which no broker
   can be reached are waited for no longer.
6. When a link comes up, both ends offer their vectors. A broker that was restarted recovers by that: it starts with
   an empty V_b. The V_b element of its own leaf starts with the time before its clock's, for which there is no
   subscription.
7. *(Not in the paper.)* When a node's brokers have lost what they knew of a leaf whose broker has failed, no broker of
   that node has a state that its neighbours could take (rule 4). A neighbour that has asked in vain reminds the broker
   that answers of what it knows. That one adds the roots to each source behind which it has missed a leaf, and raises
   V_b: what covers the subscriptions of the whole node covers those of the source. It may be more than the source has:
   the state is *overstated*, as is each one that is taken of such a broker. At the next offer of its source, which is
   made when their link is up again, the broker asks once more; with the exact state it offers its own to all others.
8. A broker that gets a publication whose vector is ahead of its V_b for some source waits for the news a moment, and
   asks for them then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from broker_service.messages import BrokerId
from broker_service.routing.gryphon.overlay import LocalView, NodeNumber
from broker_service.routing.gryphon.propagation.asking import Asking
from broker_service.routing.gryphon.propagation.dissemination import Dissemination, Request
from broker_service.routing.gryphon.propagation.messages import (
    Addition,
    Ask,
    Change,
    Control,
    News,
    Offer,
    Overstated,
    Reminder,
    Settled,
    State,
)
from broker_service.routing.gryphon.propagation.parties import Exchanges, Parties, send
from broker_service.routing.gryphon.subscriptions.conjunctions import Conjunction, decode_conjunction
from broker_service.routing.gryphon.subscriptions.leaf_subscriptions import LeafChange
from broker_service.routing.gryphon.subscriptions.roots import Difference, RootSets
from broker_service.routing.gryphon.timer_keys import AskAgain, GiveUp, Party
from broker_service.routing.gryphon.virtual_time import (
    MOST_TIME,
    Leaf,
    Vector,
    VirtualTime,
    decode_vector,
    dominates,
    encode_vector,
    part_of,
    raise_to,
)
from broker_service.routing.interface import Action, Actions, MalformedMessageError, TimerKey

Observer = Callable[[NodeNumber, Iterable[Conjunction], Iterable[Conjunction]], None]
"""Called with a source and the roots that it has added and removed."""


class KnownState:
    """The roots of each source around one broker, and its V_b."""

    def __init__(self, view: LocalView, roots: RootSets, announced: VirtualTime, observe: Observer) -> None:
        """Before the time `announced`, the broker's own leaf has no subscription."""
        self.known: dict[Leaf, VirtualTime] = {view.leaf: announced} if announced else {}
        """The broker's vector V_b: the virtual time up to which it knows the changes of each leaf."""
        self.version = 0
        """Number that grows whenever V_b does."""
        self.roots = roots
        self.overstated: set[NodeNumber] = set()
        """Sources that may have fewer roots than are known here (rule 7)."""
        self._view = view
        self._observe = observe

    def applies(self, news: News, base: Vector) -> bool:
        """True when a change can be applied to the present state (rule 3)."""
        if isinstance(news, Addition):
            return self.known.get(news.leaf, 0) >= news.time - 1
        known = part_of(self.known, self._view.behind[news.source])
        return known == base and self.roots.received[news.source].fingerprint == news.fingerprint

    def takes(self, source: NodeNumber, known: Vector) -> bool:
        """True when a state can take the place of what is known of a source (rule 4)."""
        return dominates(known, part_of(self.known, self._view.behind[source]))

    def replace(self, source: NodeNumber, known: Vector, roots: Iterable[Conjunction]) -> None:
        """Takes a state of a source in place of what is known."""
        wanted = {root.body for root in roots}
        self.update(source, roots, [each for each in self.roots.received[source] if each.body not in wanted])
        self.raise_to(known)

    def update(
        self, source: NodeNumber, added: Iterable[Conjunction], removed: Iterable[Conjunction]
    ) -> Mapping[NodeNumber, Difference]:
        """Changes the roots of a source. Returns the difference that this makes in each direction."""
        received = self.roots.received[source].by_body
        removed = [each for each in removed if each.body in received]
        added = [each for each in added if each.body not in received]
        self._observe(source, added, removed)
        return self.roots.update(source, added, removed)

    def advance(self, leaf: Leaf, time: VirtualTime) -> None:
        """Raises the element of a leaf to a time if it is below."""
        if self.known.get(leaf, 0) < time:
            self.known[leaf] = time
            self.version += 1

    def raise_to(self, known: Vector) -> None:
        """Raises V_b to a vector where it is below."""
        if raise_to(self.known, known):
            self.version += 1


_GIVEN_UP_AFTER: Final = 4
"""Times of a request in which a detour is found to a neighbour, if there is one."""
_ASKED_IN_VAIN: Final = 3
"""States of one source that could not be taken, after which a reminder is sent."""


class Propagation:
    """One broker's part in the propagation of subscriptions: it applies, passes on and acknowledges changes of
    roots."""

    def __init__(
        self,
        view: LocalView,
        state: KnownState,
        exchanges: Exchanges,
        *,
        ask_after: float,
        is_up: Callable[[BrokerId], bool],
        round_trip: Callable[[BrokerId], float | None],
        now: Callable[[], float],
        require_room: Callable[[int], None],
    ) -> None:
        """`ask_after` is in seconds, the wait for a state besides round trips; `is_up` tells whether a neighbour can be
        reached, and `round_trip` in how many seconds, once that is known. `require_room` is that of `RouterContext`."""
        self._view = view
        self.state = state
        self._ask_after = ask_after
        self._is_up = is_up
        self._round_trip = round_trip
        self._require_room = require_room
        self.parties = Parties(view, state.known, exchanges, is_up=is_up, round_trip=round_trip, now=now)
        self.dissemination = Dissemination(view, state.known, exchanges, self.parties, lost_after=self._lost_after)
        """News that came through this broker and have not been acknowledged by all around it."""
        self._asking = Asking(view, state.known, ask_after=ask_after, is_up=is_up, round_trip=round_trip)
        self._incarnations: dict[BrokerId, int] = {}

    def announce(self, change: LeafChange) -> Actions:
        """Propagates a change of the broker's own leaf."""
        view = self._view
        added = tuple([each.body for each in change.added])
        news: News
        if change.removed:
            base = part_of(self.state.known, (view.leaf,))
            removed = tuple([each.body for each in change.removed])
            fingerprint = self.state.roots.received[view.leaf].fingerprint
            news = Change(view.leaf, view.leaf, change.time, added, removed, encode_vector(base), fingerprint)
        else:
            news = Addition(view.leaf, view.leaf, change.time, added)
        parties = self.parties.all
        actions = self._apply(news, change.added, change.removed, parties)
        self.dissemination.request(Request("", {view.leaf: change.time}, parties, known=True))
        return [*actions, *self.dissemination.evaluate()]

    def receive(self, neighbour: BrokerId, control: Control) -> Actions:
        """Handles a message. Raises `MalformedMessageError` for one that no correct neighbour sends."""
        match control:
            case Addition() | Change():
                return self._receive_news(neighbour, control)
            case Offer():
                return self._receive_offer(neighbour, control)
            case Ask():
                return self._receive_ask(neighbour, control)
            case State():
                return self._receive_state(neighbour, control)
            case Reminder():
                return self._receive_reminder(neighbour, control)
            case Settled():
                return self._receive_settled(neighbour, control)

    def timer(self, key: TimerKey) -> Actions:
        """A timer of this module has run out."""
        if isinstance(key, AskAgain):
            return self._asking.again(key.source)
        if isinstance(key, GiveUp):
            return self.dissemination.give_up(key.neighbour)
        assert isinstance(key, Party)
        return self.dissemination.repeat(key)

    def want(self, source: NodeNumber, needed: Vector) -> Actions:
        """Asks for the state of a source after a moment, unless news come that reach a vector before."""
        return () if source == self._view.leaf else self._asking.want(source, needed)

    def link_up(self, neighbour: BrokerId, incarnation: int) -> Actions:
        """Offers what is known here."""
        former = self._incarnations.get(neighbour, incarnation)
        self._incarnations[neighbour] = incarnation
        node = _node_of(self._view, neighbour)
        if former != incarnation and len(self._view.members.get(node, ("",))) == 1:
            self.parties.forget(node)
        return self.dissemination.link_up(neighbour, node)

    def link_down(self, neighbour: BrokerId) -> Actions:
        """Sends elsewhere what was on the way to a neighbour."""
        return self.dissemination.link_down(neighbour)

    # Messages

    def _receive_news(self, neighbour: BrokerId, news: News) -> Actions:
        if size := sum(map(len, news.added)):
            self._require_room(size)
        _require_source(self._view, neighbour, news.source)
        if news.leaf not in self._view.behind[news.source] or not 0 < news.time <= MOST_TIME:
            raise MalformedMessageError(f"there is no time {news.time} of leaf {news.leaf} behind {neighbour}")
        added = [decode_conjunction(body) for body in news.added]
        removed = [decode_conjunction(body) for body in news.removed] if isinstance(news, Change) else []
        base = _vector_behind(self._view, news.source, news.base) if isinstance(news, Change) else {}
        needed = {news.leaf: news.time}
        parties = self.parties.receivers[neighbour]
        actions: list[Action] = []
        known = self.state.known.get(news.leaf, 0) >= news.time
        if not known:
            if known := self.state.applies(news, base):
                actions += self._apply(news, added, removed, parties)
            else:
                actions += self._asking.ask(news.source, needed, neighbour)
        self.dissemination.request(Request(neighbour, needed, parties, known))
        return [*actions, *self.dissemination.evaluate()]

    def _receive_offer(self, neighbour: BrokerId, offer: Offer) -> Actions:
        _require_source(self._view, neighbour, offer.source)
        needed = _vector_behind(self._view, offer.source, offer.known)
        actions: list[Action] = []
        if not dominates(self.state.known, needed):
            actions = self._asking.ask(offer.source, needed, neighbour)
        elif offer.source in self.state.overstated and self.state.takes(offer.source, needed):
            actions = self._asking.renew(offer.source, neighbour)
        self.dissemination.request(Request(neighbour, needed, self.parties.receivers[neighbour]))
        return [*actions, *self.dissemination.evaluate()]

    def _receive_ask(self, neighbour: BrokerId, ask: Ask) -> Actions:
        view = self._view
        if neighbour in view.peers:
            if ask.source not in view.behind or ask.source == view.peers[neighbour]:
                raise MalformedMessageError(f"{neighbour} asks for source {ask.source}")
            known, roots = part_of(self.state.known, view.behind[ask.source]), self.state.roots.received[ask.source]
            is_overstated = ask.source in self.state.overstated
        else:
            node = _node_of(self._view, neighbour)
            if ask.source != view.node:
                raise MalformedMessageError(f"{neighbour} asks for source {ask.source}")
            known, roots = part_of(self.state.known, view.before[node]), self.state.roots.announced[node]
            is_overstated = bool(self.state.overstated - {node})
        state = Overstated if is_overstated else State
        return (send(neighbour, state(ask.source, encode_vector(known), roots.bodies)),)

    def _receive_state(self, neighbour: BrokerId, state: State) -> Actions:
        if size := sum(map(len, state.roots)):
            self._require_room(size)
        others = self._view.behind.keys() - {self._view.leaf}
        if state.source not in (others if neighbour in self._view.peers else {_node_of(self._view, neighbour)}):
            raise MalformedMessageError(f"{neighbour} sends a state of source {state.source}")
        known = _vector_behind(self._view, state.source, state.known)
        roots = [decode_conjunction(body) for body in state.roots]
        if not self.state.takes(state.source, known):
            refused = self._asking.refuse(state.source)
            return self._remind(neighbour, state.source) if refused >= _ASKED_IN_VAIN else ()
        self.state.replace(state.source, known, roots)
        self._asking.took(state.source)
        corrections = self._note_exactness(state)
        return [*corrections, *self._asking.end(), *self.dissemination.evaluate()]

    def _receive_reminder(self, neighbour: BrokerId, reminder: Reminder) -> Actions:
        if size := sum(map(len, reminder.roots)):
            self._require_room(size)
        view = self._view
        node = _node_of(self._view, neighbour)
        known = decode_vector(reminder.known)
        if node not in view.members or not known.keys() <= view.before[node]:
            raise MalformedMessageError(f"{neighbour} sends a reminder of leaves that are not behind this node")
        roots = [decode_conjunction(body) for body in reminder.roots]
        missed = [leaf for leaf, time in known.items() if self.state.known.get(leaf, 0) < time and leaf != view.leaf]
        for source in dict.fromkeys(view.source_of[leaf] for leaf in missed):
            self.state.update(source, roots, ())
            self.state.overstated.add(source)
        self.state.raise_to(part_of(known, missed))
        return [*self._asking.end(), *self.dissemination.evaluate()]

    def _receive_settled(self, neighbour: BrokerId, settled: Settled) -> Actions:
        node = _node_of(self._view, neighbour)
        known = decode_vector(settled.known)
        if not known.keys() <= self._view.source_of.keys():
            raise MalformedMessageError("a vector has leaves that are not in the tree")
        return [*self.parties.acknowledged(neighbour, node, known), *self.dissemination.evaluate()]

    def _apply(
        self, news: News, added: Iterable[Conjunction], removed: Iterable[Conjunction], parties: Iterable[Party]
    ) -> list[Action]:
        """Applies a change, and passes it on to parties."""
        former = self.state.known.get(news.leaf)
        announced = self.state.roots.announced
        fingerprints = {each.node: announced[each.node].fingerprint for each in parties if each.node in announced}
        differences = self.state.update(news.source, added, removed)
        self.state.advance(news.leaf, news.time)
        actions: list[Action] = []
        for party in parties:
            passed, node = news, party.node
            if node in fingerprints:
                passed = self._own_change(news, differences[node], node, former, fingerprints[node])
            actions += self.parties.pass_on(party, passed)
        return [*actions, *self._asking.end()] if self._asking.wanted else actions

    def _own_change(
        self, news: News, difference: Difference, node: NodeNumber, former: VirtualTime | None, fingerprint: int
    ) -> News:
        """The change of this broker's roots for one node that a change of a source makes. Before it, the roots had this
        fingerprint, and the source's leaf a former time, if any."""
        added = tuple([each.body for each in difference.added])
        if isinstance(news, Addition) and not difference.removed and set(added) == set(news.added):
            return Addition(self._view.node, news.leaf, news.time, added)
        removed = tuple([each.body for each in difference.removed])
        base = part_of(self.state.known, self._view.before[node])
        if former is None:
            base.pop(news.leaf, None)
        else:
            base[news.leaf] = former
        return Change(self._view.node, news.leaf, news.time, added, removed, encode_vector(base), fingerprint)

    def _note_exactness(self, state: State) -> list[Action]:
        """Notes that a state was taken, and offers what is known to others where it is exact as none before was."""
        if isinstance(state, Overstated):
            self.state.overstated.add(state.source)
            return []
        if state.source not in self.state.overstated:
            return []
        self.state.overstated.discard(state.source)
        view, actions = self._view, list[Action]()
        for neighbour in filter(self._is_up, (*view.node_of, *view.peers)):
            if (node := _node_of(self._view, neighbour)) != state.source:
                actions += self.parties.offer_anew(neighbour, node)
        return actions

    # Asking

    def _lost_after(self) -> float:
        """Seconds in which a detour to a neighbour is found over those that can be reached, if there is one."""
        slowest = max(
            (self._round_trip(broker) or 0.0 for broker in self._view.leaves if self._is_up(broker)), default=0.0
        )
        return _GIVEN_UP_AFTER * (self._ask_after + slowest)

    def _remind(self, neighbour: BrokerId, source: NodeNumber) -> Actions:
        """Reminds a broker of a neighbouring node of what its state of that node lacks (rule 7)."""
        if neighbour not in self._view.members.get(source, ()):
            return ()
        known = part_of(self.state.known, self._view.behind[source])
        return (send(neighbour, Reminder(encode_vector(known), self.state.roots.received[source].bodies)),)


def _node_of(view: LocalView, neighbour: BrokerId) -> NodeNumber:
    """The node of a neighbour, or its leaf when it is in the same node."""
    node = view.peers.get(neighbour, view.node_of.get(neighbour))
    if node is None:
        raise MalformedMessageError(f"{neighbour} is not in a neighbouring node")
    return node


def _require_source(view: LocalView, neighbour: BrokerId, source: NodeNumber) -> None:
    """Raises `MalformedMessageError` unless a neighbour may send news of a source."""
    node = _node_of(view, neighbour)
    if source == node or (neighbour in view.peers and source in view.members):
        return
    raise MalformedMessageError(f"{neighbour} sends news of source {source}")


def _vector_behind(view: LocalView, source: NodeNumber, data: bytes) -> dict[Leaf, VirtualTime]:
    """A vector of leaves behind a source. Raises `MalformedMessageError` for any other."""
    vector = decode_vector(data)
    if not vector.keys() <= view.behind[source]:
        raise MalformedMessageError(f"a vector has leaves that are not behind node {source}")
    return vector
