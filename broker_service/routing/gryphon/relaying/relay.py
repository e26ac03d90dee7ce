"""Routing of publications at one broker: messages about streams, and the announcements that make streams complete.

1. Publications and silences are forwarded (`forwarding`), processed for the broker's own clients (`reception`), and
   sent again on request (`retransmission`).
2. The end of a stream is announced while some leaf has not acknowledged it, when a link comes up, and when one goes
   down. The publishers' broker begins that; every broker passes it on to the nodes with leaves that lack something.
3. Leaves that cannot be reached are reported as such, so that the publishers' broker does not hurry for them.
4. A publication whose vector did not arrive counts as lost, because nothing shows which nodes it is for. The end of
   the stream that this broker announces stays before it, because an end carries the latest known vector, and a leaf
   whose subscriptions have no start in that vector ignores all positions before the end.
"""

from __future__ import annotations

from broker_service.messages import BrokerId, Message
from broker_service.routing.gryphon.overlay import NodeNumber
from broker_service.routing.gryphon.relaying.forwarding import Forwarding
from broker_service.routing.gryphon.relaying.log_upkeep import LogUpkeep
from broker_service.routing.gryphon.relaying.reception import Reception
from broker_service.routing.gryphon.relaying.retransmission import Retransmission
from broker_service.routing.gryphon.streams.messages import (
    MOST_POSITION,
    Acknowledge,
    Head,
    Nack,
    Silence,
    StreamControl,
    decode_stamp,
    malformed,
    require,
    require_ranges,
)
from broker_service.routing.gryphon.streams.publications import Cached
from broker_service.routing.gryphon.streams.state import CacheOrder, StreamState
from broker_service.routing.gryphon.streams.vector_digests import EncodedVector
from broker_service.routing.gryphon.timer_keys import Announce, Collect, Gap
from broker_service.routing.gryphon.virtual_time import MOST_TIME, decode_vector
from broker_service.routing.interface import Action, Buffer

StreamTimer = Gap | Collect | Announce


class Relay:
    """The handling of all messages about streams at one broker."""

    def __init__(self, forwarding: Forwarding, upkeep: LogUpkeep) -> None:
        self._upkeep = upkeep
        self._forwarding = forwarding
        self._reception = Reception(forwarding)
        self._retransmission = Retransmission(forwarding, upkeep)
        self._caches = CacheOrder(forwarding.options.cache_bytes)

    @property
    def cached_bytes(self) -> int:
        """Bytes of the publications on their way that are kept to answer requests."""
        return self._caches.bytes

    def buffers(self) -> list[Buffer]:
        """The cache, and the publications that are held back for clients."""
        states, reception = self._forwarding.streams.values(), self._reception
        horizons = [state.horizon for state in states]
        held, held_bytes = sum(each.publications for each in horizons), sum(each.bytes for each in horizons)
        return [
            Buffer("cache", self._caches.bytes, sum(len(state.cache) for state in states)),
            Buffer("reorder", held_bytes, held, reception.notified, reception.waited),
        ]

    # Messages

    def receive_publication(self, neighbour: BrokerId, message: Message) -> list[Action]:
        stamp = decode_stamp(message.header)
        state, nodes = self._served(neighbour, stamp.stream, stamp.sideways)
        forwarding = self._forwarding
        wanting = forwarding.clients.wanting(message)  # before any change, because its content may be malformed
        start, position, digest = stamp.silent_from, stamp.position, stamp.digest
        vector = state.vectors.get(digest)
        if vector is None:
            encoded = EncodedVector(stamp.base, stamp.vector)
            vector = state.vectors.decode(digest, encoded, forwarding.view.source_of)
        if start < position:
            state.silence(nodes, start, position)
        if vector is None:
            return self._reception.moved(state)
        if state.end <= position:
            state.end = position + 1
        actions: list[Action] = []
        if state.others:  # otherwise the stream ends here, and nobody asks this broker for its publications
            cached = Cached(message, digest, stamp.hash)
            self._caches.add(state, position, cached)
            if not (stamp.again or stamp.sideways) and state.relayed.include(position):
                if start < position and not forwarding.single_path:
                    for node in state.others:
                        state.unannounced[node].add(start, position)
                actions = forwarding.send_on(state, position, cached, vector, state.others, wanting=wanting)
            if state.asked:
                actions += self._retransmission.answer_waiting(state, position, cached, actions)
        if state.horizon.next is None:
            leaf = forwarding.view.leaf
            if not forwarding.clients.follows_from(vector):
                state.silent_for[leaf].add(position, position + 1)
                return actions
            state.follow(leaf)
        actions += self._reception.publication(
            state, start, position, message=message, vector=vector, again=stamp.again
        )
        return actions

    def _receive_silence(self, neighbour: BrokerId, silence: Silence) -> list[Action]:
        require_ranges(silence.ranges)
        if not silence.sideways and neighbour in self._forwarding.view.peers:
            state = self._forwarding.state(silence.stream)
            nodes = state.downstream
        else:
            state, nodes = self._served(neighbour, silence.stream, silence.sideways)
        actions: list[Action] = []
        for start, end in silence.ranges:
            state.silence(nodes, start, end)
            for other in nodes:
                if other != self._forwarding.view.leaf and not self._forwarding.single_path:
                    actions += self._forwarding.announce_later(state, other, start, end)
            if self._forwarding.view.leaf in nodes:
                self._reception.silence(state, start, end)
        for asking, wanted in () if silence.sideways else state.asked.items():
            found = [part for part in silence.ranges if wanted.within(*part)]
            for part in found:
                wanted.remove(*part)
            if self._forwarding.is_up(asking):
                actions += self._forwarding.silences(silence.stream, asking, found)
        return [*actions, *self._reception.moved(state)]

    def _receive_acknowledge(self, neighbour: BrokerId, found: Acknowledge) -> list[Action]:
        state = self._forwarding.state(found.stream)
        require(found.leaves.keys() <= self._forwarding.view.source_of.keys(), "leaf")
        require(all(0 <= position < MOST_POSITION for position in found.leaves.values()), "position")
        require(found.idle.keys() <= self._forwarding.view.source_of.keys(), "leaf")
        require(all(0 <= time <= MOST_TIME for time in found.idle.values()), "time")
        if found.stream == self._forwarding.view.leaf:
            return self._upkeep.acknowledged(found.leaves, found.idle)
        actions: list[Action] = []
        for leaf, position in found.leaves.items():
            actions += self._reception.collect(state, leaf, position)
        for leaf, time in found.idle.items():
            actions += self._reception.collect_idle(state, leaf, time)
        return actions

    # Ends of streams

    def _receive_head(self, neighbour: BrokerId, head: Head) -> list[Action]:
        require(0 < head.first <= head.end < MOST_POSITION, "position")
        require(0 <= head.silent < head.end and 0 < head.digest <= head.end, "distance")
        state, nodes = self._served(neighbour, head.stream, head.sideways)
        vector = decode_vector(head.vector)
        leaves = self._forwarding.view.source_of.keys()
        require(vector.keys() <= leaves and head.lost.keys() <= leaves, "leaf")
        require(all(0 < position <= head.first for position in head.lost.values()), "lost position")
        state.vectors.remember(head.digest, vector)
        state.end = max(state.end, head.end)
        state.silence(nodes, head.end - head.silent, head.end)
        if head.first >= state.first:
            state.lost = head.lost
        self._caches.forgotten(state.forget_below(head.first))
        others = [node for node in nodes if node != self._forwarding.view.leaf]
        actions, unreachable = self._forwarding.announce_end(head.stream, others, head.lacking)
        for leaf in unreachable:
            actions += self._reception.collect(state, leaf, 0)
        if self._forwarding.view.leaf in nodes:
            actions += self._reception.end(state, head, vector)
        return actions

    def receive(self, neighbour: BrokerId, control: StreamControl) -> list[Action]:
        match control:
            case Head():
                return self._receive_head(neighbour, control)
            case Nack():
                return self._retransmission.receive_nack(neighbour, control)
            case Silence():
                return self._receive_silence(neighbour, control)
            case Acknowledge():
                return self._receive_acknowledge(neighbour, control)

    def timer(self, key: StreamTimer) -> list[Action]:
        match key:
            case Gap(stream):
                return self._reception.ask(stream)
            case Collect(stream):
                return self._reception.pass_acknowledgements(stream)
            case Announce(stream):
                return self._forwarding.announce(stream)

    def link_up(self, neighbour: BrokerId) -> list[Action]:
        """Sends what waits for the node of a neighbour, announces the ends of all streams, and asks again for what
        could not be asked for."""
        node = self._forwarding.node_of(neighbour)
        actions: list[Action] = []
        for stream, state in self._forwarding.streams.items():
            state.vectors.link_up(neighbour)
            actions += self._retransmission.unsent(state, node)
            actions += self._announce_again(stream, state, neighbour, neighbour)
            if node == state.upstream:
                actions += self._retransmission.ask_again(state)
            actions += self._reception.moved(state)
        return actions

    def link_down(self, neighbour: BrokerId) -> list[Action]:
        """Announces the ends of all streams to the node of a neighbour by another way, and asks others for what it was
        asked for, because messages may be lost."""
        node = self._forwarding.node_of(neighbour)
        actions: list[Action] = []
        for stream, state in self._forwarding.streams.items():
            state.asked.pop(neighbour, None)
            actions += self._announce_again(stream, state, neighbour, "")
            if node == state.upstream:
                actions += self._retransmission.ask_again(state)
            actions += self._reception.link_down(state, neighbour)
        return actions

    def _announce_again(
        self, stream: NodeNumber, state: StreamState, neighbour: BrokerId, to: BrokerId
    ) -> list[Action]:
        node = self._forwarding.node_of(neighbour)
        latest = state.vectors.latest()
        is_served = node in state.downstream and state.upstream not in self._forwarding.view.peers.values()
        if not is_served or latest is None or state.first >= state.end:
            return []
        return self._forwarding.announce_end(stream, (node,), tuple(latest[1]), to)[0]

    # Checks

    def _served(
        self, neighbour: BrokerId, stream: NodeNumber, sideways: bool
    ) -> tuple[StreamState, tuple[NodeNumber, ...]]:
        """The state of a stream, and the nodes that this broker is to serve with a message about it."""
        view = self._forwarding.view
        state = self._forwarding.state(stream)
        if stream == view.leaf:
            raise malformed("stream")
        if sideways:
            require(neighbour in view.peers, "sender")
            return state, (view.leaf,)
        if view.node_of.get(neighbour) != state.upstream:
            raise malformed("sender")
        return state, state.downstream
