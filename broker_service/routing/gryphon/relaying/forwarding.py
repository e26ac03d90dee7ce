"""Forwarding of publications and of silences to the nodes around a broker (sections 3.5 and 5.1).

1. A publication goes to a node further down if a root of that node matches it, or if V_b is below its vector in an
   element of that node: then this broker does not know enough, and sends it regardless. Otherwise its position is
   silent for that node. Any broker of the node will do (`overlay`).
2. A publication carries the silent positions just before it. On a single path nothing else is needed. Where
   publications take several paths, silent positions that none has carried are announced by themselves after
   `silence_after`.
3. To a broker of the same node a message goes *sideways*: it is for that broker's own leaf, and ends there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable

import msgspec

from broker_service.messages import BrokerId, Kind, Message
from broker_service.routing.common.decoding import encode_header
from broker_service.routing.gryphon.clients import Clients
from broker_service.routing.gryphon.detours.detours import Detours
from broker_service.routing.gryphon.options import GryphonOptions
from broker_service.routing.gryphon.overlay import PATHS, LocalView, NodeNumber
from broker_service.routing.gryphon.propagation.propagation import Propagation
from broker_service.routing.gryphon.streams.gap_requests import GapRequests
from broker_service.routing.gryphon.streams.horizon import HORIZONS
from broker_service.routing.gryphon.streams.messages import (
    ALL_BEFORE,
    MOST_RANGES,
    STREAM_LABELS,
    Head,
    Silence,
    Stamp,
    StreamControl,
)
from broker_service.routing.gryphon.streams.publications import Cached
from broker_service.routing.gryphon.streams.ranges import Range, RangeSet
from broker_service.routing.gryphon.streams.state import StreamState
from broker_service.routing.gryphon.streams.vector_digests import EncodedVector
from broker_service.routing.gryphon.timer_keys import Announce
from broker_service.routing.gryphon.virtual_time import Vector, VirtualTime, encode_vector, part_of
from broker_service.routing.interface import Action, MalformedMessageError, Send, SetTimer


class Forwarding:
    """The decisions of one broker on where publications and silences go. It also holds what this broker knows of each
    stream."""

    def __init__(
        self,
        view: LocalView,
        propagation: Propagation,
        clients: Clients,
        options: GryphonOptions,
        detours: Detours,
        *,
        now: Callable[[], float],
    ) -> None:
        self.view = view
        self.clients = clients
        self.options = options
        self.single_path = options.single_path
        self.now = now
        self.is_up = detours.is_up
        self._links = detours.links
        self.streams: dict[NodeNumber, StreamState] = {}
        self.counts = Counter[str]()
        """Messages sent, by their labels."""
        self._propagation = propagation
        self._known_state = propagation.state
        self._path = PATHS[options.paths]
        self._heads: dict[tuple[NodeNumber, BrokerId], int] = {}
        """The messages that a link has sent once the latest head of a stream is among them, by stream and neighbour."""
        self._sufficient: dict[tuple[NodeNumber, NodeNumber], tuple[int, int, bool]] = {}
        """The latest answer of `is_sufficient` for each stream and node: digest of the vector, version of V_b, and
        whether V_b suffices."""

    def state(self, stream: NodeNumber) -> StreamState:
        """The state of a stream. Raises `MalformedMessageError` when no broker has such a leaf."""
        state = self.streams.get(stream)
        if state is None:
            view = self.view
            source = view.source_of.get(stream)
            if source is None:
                raise MalformedMessageError(f"there is no stream {stream}")
            leaves = [view.leaf, *view.peers.values()]
            downstream = [node for node in (*view.members, *leaves) if node != source]
            horizon = HORIZONS[self.options.order](self.options.reorder_bytes)
            requests = GapRequests(self.options.gap_after, self.options.nack_again)
            state = self.streams[stream] = StreamState(
                stream, source, downstream, leaf=view.leaf, horizon=horizon, requests=requests
            )
        return state

    def send_on(
        self,
        state: StreamState,
        position: int,
        cached: Cached,
        vector: Vector,
        nodes: Iterable[NodeNumber],
        *,
        wanting: Collection[NodeNumber],
    ) -> list[Action]:
        """Routes a publication to nodes (rule 1), of which these have a root that matches it."""
        actions: list[Action] = []
        for node in nodes:
            sufficient = self.is_sufficient(state.stream, node, cached.digest, vector)
            if not sufficient:
                actions += self._propagation.want(node, part_of(vector, self.view.behind[node]))
            if node in wanting or not sufficient:
                target = self.route(cached.hash, node, position)
                if target:
                    encoded = state.vectors.encode(cached.digest, target)
                    message = self._stamped(state, node, target, position, cached, encoded=encoded, again=False)
                    actions.append(Send(target, message))
                else:
                    state.unsent[node].add(position, position + 1)
            else:
                state.silent_for[node].add(position, position + 1)
                if not self.single_path:
                    actions += self.announce_later(state, node, position, position + 1)
        return actions

    def send_again(
        self, state: StreamState, node: NodeNumber, target: BrokerId, position: int, *, cached: Cached, vector: Vector
    ) -> Action:
        """Sends a publication to a broker of a node that has asked for it, with the whole vector."""
        encoded = EncodedVector(0, encode_vector(vector))
        message = self._stamped(state, node, target, position, cached, encoded=encoded, again=True)
        return Send(target, message, label="retransmission")

    def _stamped(
        self,
        state: StreamState,
        node: NodeNumber,
        target: BrokerId,
        position: int,
        cached: Cached,
        *,
        encoded: EncodedVector,
        again: bool,
    ) -> Message:
        """A publication as it travels to a broker of a node; `again` for a retransmission."""
        start = state.silent_for[node].start_of(position)
        if start < position:
            state.unannounced[node].remove(start, position)
        reaches_back = start <= state.first and not self.lost(state, node)
        silent = ALL_BEFORE if reaches_back else position - start
        age, sideways = position - cached.digest, target in self.view.peers
        base, elements = encoded
        stamp = Stamp(state.stream, position, silent, age, sideways, again, base, elements, cached.hash)
        kept = cached.message
        return Message(kept.kind, kept.id, kept.body, encode_header(stamp), kept.hops + 1, kept.label, kept.published)

    def is_sufficient(self, stream: NodeNumber, node: NodeNumber, digest: int, vector: Vector) -> bool:
        """True when V_b is not below the vector of a digest in any element of a node."""
        cached = self._sufficient.get((stream, node))
        version = self._known_state.version
        if cached is not None and cached[0] == digest and cached[1] == version:
            return cached[2]
        known = self._known_state.known
        found = all(known.get(leaf, 0) >= vector.get(leaf, 0) for leaf in self.view.behind[node])
        self._sufficient[stream, node] = (digest, version, found)
        return found

    def route(self, hash: int, node: NodeNumber, position: int) -> BrokerId:
        """The broker to send to for a node; an empty name when none can be reached."""
        members = self.view.members.get(node)
        target = None if members is None else self._path(self._links, members, hash, position)
        return target or next(filter(self.is_up, self._brokers(node)), "")

    def announce_later(self, state: StreamState, node: NodeNumber, start: int, end: int) -> list[Action]:
        """Announces silent positions to a node after a while, unless a publication carries them before."""
        state.unannounced[node].add(start, end)
        if state.collects_silences:
            return []
        state.collects_silences = True
        return [SetTimer(Announce(state.stream), self.options.silence_after, awaited=True)]

    def announce(self, stream: NodeNumber) -> list[Action]:
        """Announces silent positions that no publication has carried."""
        state = self.state(stream)
        state.collects_silences = False
        actions: list[Action] = []
        for node, ranges in state.unannounced.items():
            if not ranges:
                continue
            target = self.route(stream, node, state.end)
            if target:
                actions += self.silences(stream, target, ranges, sideways=target in self.view.peers)
            state.unannounced[node] = RangeSet()
        return actions

    def silences(
        self, stream: NodeNumber, target: BrokerId, ranges: Iterable[Range], *, sideways: bool = False
    ) -> list[Action]:
        """The messages that announce silent positions to a broker."""
        ranges = list(ranges)
        actions: list[Action] = []
        for place in range(0, len(ranges), MOST_RANGES):
            silence = Silence(stream, tuple(ranges[place : place + MOST_RANGES]), sideways)
            actions.append(self.control(target, silence))
        return actions

    def announce_end(
        self, stream: NodeNumber, nodes: Iterable[NodeNumber], lacking: Collection[NodeNumber], to: BrokerId = ""
    ) -> tuple[list[Action], list[NodeNumber]]:
        """Announces the end of a stream to nodes with leaves that lack something.

        Returns the actions, and the leaves that cannot be reached. `to` is the only broker that will do. One broker of
        a node passes the announcement on. Where the others get publications as well, they are told what they need not
        keep any more. A broker for which the last announcement waits still is not told again: where a link carries them
        more slowly than they are made, they would keep everything else waiting for ever.
        """
        state = self.state(stream)
        latest = state.vectors.latest()
        unreachable: list[NodeNumber] = []
        actions: list[Action] = []
        if latest is None:
            return actions, unreachable
        digest, vector = latest
        encoded = encode_vector(vector)
        for node in nodes:
            leaves = tuple(leaf for leaf in lacking if leaf in self.view.behind[node])
            target = to or self.route(stream, node, state.end)
            if not leaves:
                continue
            if not target:
                unreachable += leaves
                continue
            silent = state.end - state.silent_for[node].start_of(state.end)
            sideways = target in self.view.peers
            head = Head(stream, state.end, silent, digest, encoded, state.first, leaves, sideways, state.lost)
            told = {target: head}
            if not self.single_path and not to:
                others = [each for each in self.view.members.get(node, ()) if each != target and self.is_up(each)]
                told |= dict.fromkeys(others, msgspec.structs.replace(head, lacking=()))
            actions += [
                self._head(each, found)
                for each, found in told.items()
                if to or not self._has_waiting_head(stream, each)
            ]
        return actions, unreachable

    def _head(self, neighbour: BrokerId, head: Head) -> Send:
        link = self._links[neighbour]
        self._heads[head.stream, neighbour] = link.sent + link.queue_length + 1
        return self.control(neighbour, head)

    def _has_waiting_head(self, stream: NodeNumber, neighbour: BrokerId) -> bool:
        """True while the latest head for a neighbour waits in the link's queue. What breaks a link may empty that."""
        link = self._links[neighbour]
        return link.queue_length > 0 and link.sent < self._heads.get((stream, neighbour), 0)

    def lost(self, state: StreamState, node: NodeNumber) -> dict[NodeNumber, int]:
        """`StreamState.lost` for the leaves that a node asks for: those behind a neighbouring one, and all where a
        broker of the same node asks."""
        if not state.lost or node not in self.view.members:
            return state.lost
        return {leaf: start for leaf, start in state.lost.items() if leaf in self.view.behind[node]}

    def upstream(self, state: StreamState, attempt: int) -> BrokerId:
        """A broker on the way to the publishers' broker, another one with each attempt; empty when there is none."""
        brokers = self._brokers(state.upstream)
        reachable = [broker for broker in brokers if self._links[broker].up] or list(filter(self.is_up, brokers))
        return reachable[attempt % len(reachable)] if reachable else ""

    def idle_until(self) -> VirtualTime | None:
        """The own time up to which no client here has a subscription; None while one has."""
        return None if len(self.clients.subscriptions) else self._known_state.known.get(self.view.leaf, 0)

    def leave_all(self) -> None:
        """The last subscription of a client is gone (`horizon`)."""
        for state in self.streams.values():
            state.leave()

    def node_of(self, neighbour: BrokerId) -> NodeNumber:
        """The node of a neighbour, or its leaf when it is in the same node. Raises `MalformedMessageError`."""
        node = self.view.peers.get(neighbour, self.view.node_of.get(neighbour))
        if node is None:
            raise MalformedMessageError(f"{neighbour} is not in a neighbouring node")
        return node

    def control(self, neighbour: BrokerId, control: StreamControl) -> Send:
        """The action that sends a control message. Heads and silences keep their place behind publications."""
        label = STREAM_LABELS[type(control)]
        self.counts[label] += 1
        message = Message(Kind.CONTROL, "", header=encode_header(control), hops=1)
        return Send(neighbour, message, label=label, ahead=not isinstance(control, Silence | Head))

    def _brokers(self, node: NodeNumber) -> Iterable[BrokerId]:
        """The brokers of a neighbouring node, or the one that has a leaf at this broker's node."""
        members = self.view.members.get(node)
        return [peer for peer, leaf in self.view.peers.items() if leaf == node] if members is None else members
