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
from broker_service.routing.gryphon.overlay.local_view import LocalView
from broker_service.routing.gryphon.overlay.routing_tree import NodeNumber
from broker_service.routing.gryphon.propagation.asking import Asking
from broker_service.routing.gryphon.propagation.dissemination import Dissemination, Request, send
from broker_service.routing.gryphon.propagation.exchanges import Exchanges
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
from broker_service.routing.gryphon.subscriptions.conjunctions import Conjunction, decode_conjunction
from broker_service.routing.gryphon.subscriptions.leaf_subscriptions import LeafChange
from broker_service.routing.gryphon.subscriptions.root_sets import Difference, RootSets
from broker_service.routing.gryphon.timer_keys import AskAgain, GiveUp, Party
from broker_service.routing.gryphon.virtual_time.clock import MOST_TIME, VirtualTime
from broker_service.routing.gryphon.virtual_time.vectors import (
    Leaf,
    Vector,
    decode_vector,
    dominates,
    encode_vector,
    part_of,
    raise_to,
)
from broker_service.routing.interface import Action, Actions, MalformedMessageError, TimerKey

Observer = Callable[[NodeNumber, Iterable[Conjunction], Iterable[Conjunction]], None]
"""Called with a source and the roots that it has added and removed."""

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
        roots: RootSets,
        exchanges: Exchanges,
        *,
        ask_after: float,
        is_up: Callable[[BrokerId], bool],
        round_trip: Callable[[BrokerId], float],
        now: Callable[[], float],
        observe: Observer,
    ) -> None:
        """`ask_after` is in seconds, the wait for a state besides round trips; `is_up` tells whether a neighbour can be
        reached, and `round_trip` in how many seconds."""
        self.known: dict[Leaf, VirtualTime] = {}
        """The broker's vector V_b: the virtual time up to which it knows the changes of each leaf."""
        self.version = 0
        """Number that grows whenever V_b does."""
        self._view = view
        self._roots = roots
        self._ask_after = ask_after
        self._is_up = is_up
        self._round_trip = round_trip
        self._observe = observe
        self.dissemination = Dissemination(
            view, self.known, exchanges, is_up=is_up, now=now, lost_after=self._lost_after
        )
        """News that came through this broker and have not been acknowledged by all around it."""
        self._asking = Asking(view, self.known, ask_after=ask_after, is_up=is_up, round_trip=round_trip)
        self._incarnations: dict[BrokerId, int] = {}
        self._overstated: set[NodeNumber] = set()
        """Sources that may have fewer roots than are known here (rule 7)."""

    def start(self, announced: VirtualTime) -> None:
        """Sets the time before which the broker's own leaf has no subscription."""
        if announced:
            self.known[self._view.leaf] = announced

    def announce(self, change: LeafChange) -> Actions:
        """Propagates a change of the broker's own leaf."""
        view = self._view
        base = part_of(self.known, (view.leaf,))
        added = tuple(each.body for each in change.added)
        news: News
        if change.removed:
            removed = tuple(each.body for each in change.removed)
            fingerprint = self._roots.received(view.leaf).fingerprint
            news = Change(view.leaf, view.leaf, change.time, added, removed, encode_vector(base), fingerprint)
        else:
            news = Addition(view.leaf, view.leaf, change.time, added)
        parties = self.dissemination.others("")
        actions = self._apply(news, change.added, change.removed, parties)
        self.dissemination.request(Request("", {view.leaf: change.time}, parties))
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
        node = self._node_of(neighbour)
        if former != incarnation and len(self._view.members.get(node, ("",))) == 1:
            self.dissemination.forget(node)
        return self.dissemination.link_up(neighbour, node)

    def link_down(self, neighbour: BrokerId) -> Actions:
        """Sends elsewhere what was on the way to a neighbour."""
        return self.dissemination.link_down(neighbour)

    # Messages

    def _receive_news(self, neighbour: BrokerId, news: News) -> Actions:
        self._require_source(neighbour, news.source)
        if news.leaf not in self._view.behind[news.source] or not 0 < news.time <= MOST_TIME:
            raise MalformedMessageError(f"there is no time {news.time} of leaf {news.leaf} behind {neighbour}")
        added = [decode_conjunction(body) for body in news.added]
        removed = [decode_conjunction(body) for body in news.removed] if isinstance(news, Change) else []
        base = self._base(news)
        needed = {news.leaf: news.time}
        parties = self.dissemination.receivers(neighbour)
        actions: list[Action] = []
        if not dominates(self.known, needed):
            if self._applies(news, base):
                actions += self._apply(news, added, removed, parties)
            else:
                actions += self._asking.ask(news.source, needed, neighbour)
        self.dissemination.request(Request(neighbour, needed, parties))
        return [*actions, *self.dissemination.evaluate()]

    def _receive_offer(self, neighbour: BrokerId, offer: Offer) -> Actions:
        self._require_source(neighbour, offer.source)
        needed = self._vector(offer.source, offer.known)
        actions: list[Action] = []
        if not dominates(self.known, needed):
            actions = self._asking.ask(offer.source, needed, neighbour)
        elif offer.source in self._overstated and self._takes(offer.source, needed):
            actions = self._asking.renew(offer.source, neighbour)
        self.dissemination.request(Request(neighbour, needed, self.dissemination.receivers(neighbour)))
        return [*actions, *self.dissemination.evaluate()]

    def _receive_ask(self, neighbour: BrokerId, ask: Ask) -> Actions:
        view = self._view
        if neighbour in view.peers:
            if ask.source not in view.behind or ask.source == view.peers[neighbour]:
                raise MalformedMessageError(f"{neighbour} asks for source {ask.source}")
            known, roots = part_of(self.known, view.behind[ask.source]), self._roots.received(ask.source)
            is_overstated = ask.source in self._overstated
        else:
            node = self._node_of(neighbour)
            if ask.source != view.node:
                raise MalformedMessageError(f"{neighbour} asks for source {ask.source}")
            known, roots = part_of(self.known, view.before[node]), self._roots.announced(node)
            is_overstated = bool(self._overstated - {node})
        state = Overstated if is_overstated else State
        return (send(neighbour, state(ask.source, encode_vector(known), roots.bodies)),)

    def _receive_state(self, neighbour: BrokerId, state: State) -> Actions:
        others = self._view.behind.keys() - {self._view.leaf}
        if state.source not in (others if neighbour in self._view.peers else {self._node_of(neighbour)}):
            raise MalformedMessageError(f"{neighbour} sends a state of source {state.source}")
        known = self._vector(state.source, state.known)
        roots = [decode_conjunction(body) for body in state.roots]
        if not self._takes(state.source, known):
            refused = self._asking.refuse(state.source)
            return self._remind(neighbour, state.source) if refused >= _ASKED_IN_VAIN else ()
        self._replace(state.source, known, roots)
        self._asking.took(state.source)
        corrections = self._note_exactness(state)
        return [*corrections, *self._asking.end(), *self.dissemination.evaluate()]

    def _receive_reminder(self, neighbour: BrokerId, reminder: Reminder) -> Actions:
        view = self._view
        node = self._node_of(neighbour)
        known = decode_vector(reminder.known)
        if node not in view.members or not known.keys() <= view.before[node]:
            raise MalformedMessageError(f"{neighbour} sends a reminder of leaves that are not behind this node")
        roots = [decode_conjunction(body) for body in reminder.roots]
        missed = [leaf for leaf, time in known.items() if self.known.get(leaf, 0) < time and leaf != view.leaf]
        for source in dict.fromkeys(view.source_of[leaf] for leaf in missed):
            self._update(source, roots, ())
            self._overstated.add(source)
        self._raise(part_of(known, missed))
        return [*self._asking.end(), *self.dissemination.evaluate()]

    def _receive_settled(self, neighbour: BrokerId, settled: Settled) -> Actions:
        node = self._node_of(neighbour)
        known = decode_vector(settled.known)
        if not known.keys() <= self._view.source_of.keys():
            raise MalformedMessageError("a vector has leaves that are not in the tree")
        return self.dissemination.acknowledged(neighbour, node, known)

    # State

    def _applies(self, news: News, base: Vector) -> bool:
        """True when a change can be applied to the present state (rule 3)."""
        if isinstance(news, Addition):
            return self.known.get(news.leaf, 0) >= news.time - 1
        known = part_of(self.known, self._view.behind[news.source])
        return known == base and self._roots.received(news.source).fingerprint == news.fingerprint

    def _takes(self, source: NodeNumber, known: Vector) -> bool:
        """True when a state can take the place of what is known of a source (rule 4)."""
        return dominates(known, part_of(self.known, self._view.behind[source]))

    def _apply(
        self, news: News, added: Iterable[Conjunction], removed: Iterable[Conjunction], parties: Iterable[Party]
    ) -> list[Action]:
        """Applies a change, and passes it on to parties."""
        former = self.known.get(news.leaf)
        nodes = [party.node for party in parties if party.node in self._view.members]
        fingerprints = {node: self._roots.announced(node).fingerprint for node in nodes}
        differences = self._update(news.source, added, removed)
        self._raise({news.leaf: news.time})
        actions: list[Action] = []
        for party in parties:
            if party.node in fingerprints:
                base = part_of(self.known, self._view.before[party.node])
                if former is None:
                    base.pop(news.leaf, None)
                else:
                    base[news.leaf] = former
                passed = self._own_change(news, differences[party.node], base, fingerprints[party.node])
            else:
                passed = news
            actions += self.dissemination.pass_on(party, passed)
        return [*actions, *self._asking.end()]

    def _own_change(self, news: News, difference: Difference, base: Vector, fingerprint: int) -> News:
        """The change of this broker's roots in one direction that a change of a source makes."""
        added = tuple(each.body for each in difference.added)
        if isinstance(news, Addition) and not difference.removed and set(added) == set(news.added):
            return Addition(self._view.node, news.leaf, news.time, added)
        removed = tuple(each.body for each in difference.removed)
        return Change(self._view.node, news.leaf, news.time, added, removed, encode_vector(base), fingerprint)

    def _replace(self, source: NodeNumber, known: Vector, roots: Iterable[Conjunction]) -> None:
        """Takes a state of a source in place of what is known."""
        wanted = {root.body for root in roots}
        self._update(source, roots, [each for each in self._roots.received(source) if each.body not in wanted])
        self._raise(known)

    def _note_exactness(self, state: State) -> list[Action]:
        """Notes that a state was taken, and offers what is known to others where it is exact as none before was."""
        if isinstance(state, Overstated):
            self._overstated.add(state.source)
            return []
        if state.source not in self._overstated:
            return []
        self._overstated.discard(state.source)
        view, actions = self._view, list[Action]()
        for neighbour in filter(self._is_up, (*view.node_of, *view.peers)):
            if (node := self._node_of(neighbour)) != state.source:
                actions += self.dissemination.offer_anew(neighbour, node)
        return actions

    def _update(
        self, source: NodeNumber, added: Iterable[Conjunction], removed: Iterable[Conjunction]
    ) -> Mapping[NodeNumber, Difference]:
        received = self._roots.received(source)
        removed = [each for each in removed if each.body in received]
        added = [each for each in added if each.body not in received]
        self._observe(source, added, removed)
        return self._roots.update(source, added, removed)

    def _raise(self, known: Vector) -> None:
        if raise_to(self.known, known):
            self.version += 1

    # Asking

    def _lost_after(self) -> float:
        """Seconds in which a detour to a neighbour is found over those that can be reached, if there is one."""
        slowest = max((self._round_trip(broker) for broker in self._view.leaves if self._is_up(broker)), default=0.0)
        return _GIVEN_UP_AFTER * (self._ask_after + slowest)

    def _remind(self, neighbour: BrokerId, source: NodeNumber) -> Actions:
        """Reminds a broker of a neighbouring node of what its state of that node lacks (rule 7)."""
        if neighbour not in self._view.members.get(source, ()):
            return ()
        known = part_of(self.known, self._view.behind[source])
        return (send(neighbour, Reminder(encode_vector(known), self._roots.received(source).bodies)),)

    # Checks of messages

    def _node_of(self, neighbour: BrokerId) -> NodeNumber:
        """The node of a neighbour, or its leaf when it is in the same node."""
        view = self._view
        node = view.peers.get(neighbour, view.node_of.get(neighbour))
        if node is None:
            raise MalformedMessageError(f"{neighbour} is not in a neighbouring node")
        return node

    def _require_source(self, neighbour: BrokerId, source: NodeNumber) -> None:
        """Raises `MalformedMessageError` unless a neighbour may send news of a source."""
        node = self._node_of(neighbour)
        if source == node or (neighbour in self._view.peers and source in self._view.members):
            return
        raise MalformedMessageError(f"{neighbour} sends news of source {source}")

    def _vector(self, source: NodeNumber, data: bytes) -> dict[Leaf, VirtualTime]:
        """A vector of leaves behind a source. Raises `MalformedMessageError` for any other."""
        vector = decode_vector(data)
        if not vector.keys() <= self._view.behind[source]:
            raise MalformedMessageError(f"a vector has leaves that are not behind node {source}")
        return vector

    def _base(self, news: News) -> Vector:
        return self._vector(news.source, news.base) if isinstance(news, Change) else {}
