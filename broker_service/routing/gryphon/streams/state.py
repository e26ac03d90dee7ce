"""The knowledge of a broker about one stream: silent positions, publications, and positions that others wait for."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable

from broker_service.messages import BrokerId
from broker_service.routing.gryphon.overlay import NodeNumber
from broker_service.routing.gryphon.streams.gap_requests import GapRequests
from broker_service.routing.gryphon.streams.horizon import Horizon
from broker_service.routing.gryphon.streams.publications import Cached
from broker_service.routing.gryphon.streams.ranges import RangeSet
from broker_service.routing.gryphon.streams.vector_digests import VectorDigests
from broker_service.routing.gryphon.virtual_time import Leaf, VirtualTime


class StreamState:
    """The state of one stream at one broker. Knowledge only grows: a position that was lost, or did not fit in a
    buffer, stays unknown until it comes again."""

    def __init__(
        self,
        stream: NodeNumber,
        upstream: NodeNumber,
        downstream: Iterable[NodeNumber],
        *,
        leaf: NodeNumber,
        horizon: Horizon,
        requests: GapRequests,
    ) -> None:
        """`leaf` is the broker's own leaf."""
        self.stream = stream
        """The number of the stream."""
        self.upstream = upstream
        """The source behind which the publishers' broker is; the own leaf at that broker itself."""
        self.downstream = tuple(downstream)
        """The nodes, and leaves at the own node, that are served from here."""
        self.others = tuple(node for node in self.downstream if node != leaf)
        """Nodes and leaves of `downstream` other than this broker's own leaf."""
        self.vectors = VectorDigests()
        self.horizon = horizon
        self.requests = requests
        """Requests of the broker's own leaf for what it lacks."""
        self.silent = RangeSet()
        """Positions that hold nothing for anybody further down."""
        self.silent_for: defaultdict[NodeNumber, RangeSet] = defaultdict(RangeSet)
        """Positions that hold nothing for a node, by node."""
        self.unannounced: defaultdict[NodeNumber, RangeSet] = defaultdict(RangeSet)
        """Silent positions, by node, that no message has carried there yet."""
        self.relayed = RangeSet()
        """Positions of publications that have been sent on."""
        self.cache: dict[int, Cached] = {}
        self.asked: defaultdict[BrokerId, RangeSet] = defaultdict(RangeSet)
        """Positions that each neighbour has asked for and that are not known here."""
        self.asked_of: BrokerId = ""
        """The broker that the own leaf has asked latest for what it lacks."""
        self.unsent: defaultdict[NodeNumber, RangeSet] = defaultdict(RangeSet)
        """Positions of publications, by node, that came while no broker of that node could be reached."""
        self.acknowledged: dict[Leaf, int] = {}
        """Acknowledgements on their way to the publishers' broker."""
        self.end = 0
        """Position behind the last one that is known to have been given, and whose vector is known not to be above the
        latest one here."""
        self.first = 1
        """Positions before are not kept at the publishers' broker."""
        self.base = 1
        """The broker's own leaf wants nothing before this position, as long as it does not follow the stream."""
        self.waits_for_gap = False
        self.lost: dict[Leaf, int] = {}
        """The first lost position of each leaf that has lost any: from there to `first`, it was owed positions that are
        kept no more."""
        self.idle: dict[Leaf, VirtualTime] = {}
        """Time until which each leaf without subscriptions has none, on its way to the publishers' broker."""
        self.collects_acknowledgements = False
        self.collects_silences = False

    def silence(self, nodes: tuple[NodeNumber, ...], start: int, end: int) -> None:
        """Positions hold nothing for nodes; for nobody further down when these are all."""
        for node in nodes:
            self.silent_for[node].add(start, end)
        if nodes == self.downstream:
            self.silent.add(start, end)

    def follow(self, leaf: NodeNumber) -> None:
        """Has the broker's own leaf follow the stream, if it does not already."""
        if self.horizon.next is None:
            self.horizon.follow(max(self.base, self.lost.get(leaf, self.first)))
            for start, end in self.silent_for[leaf]:
                self.horizon.silence(start, end)

    def leave(self) -> None:
        """Has the broker's own leaf follow the stream no more."""
        self.base = max(self.base, self.horizon.next or 0)
        self.horizon.leave()
        self.requests.leave()

    def forget_below(self, position: int) -> list[Cached]:
        """Forgets positions that nobody can ask for any more; returns the publications among them."""
        if position <= self.first:
            return []
        self.first = position
        self.silent.forget_below(position)
        self.relayed.forget_below(position)
        for sets in (self.silent_for, self.unannounced, self.unsent, self.asked):
            for ranges in sets.values():
                ranges.forget_below(position)
        self.vectors.forget_below(position)
        gone = [place for place in self.cache if place < position]
        return [self.cache.pop(place) for place in gone]


class CacheOrder:
    """The order in which publications came into the caches of all streams, by which the oldest make room."""

    def __init__(self, most_bytes: int) -> None:
        self.bytes = 0
        """Bytes of the publications in all caches."""
        self._most_bytes = most_bytes
        self._order: deque[tuple[StreamState, int]] = deque()

    def add(self, state: StreamState, position: int, cached: Cached) -> None:
        """Keeps a publication, and lets the oldest go that do not fit any more."""
        cache = state.cache
        if position in cache:
            return
        cache[position] = cached
        self.bytes += len(cached.message.body)
        self._order.append((state, position))
        while self.bytes > self._most_bytes and self._order:
            oldest, place = self._order.popleft()
            gone = oldest.cache.pop(place, None)
            if gone is not None:
                self.bytes -= len(gone.message.body)

    def forgotten(self, gone: Iterable[Cached]) -> None:
        """Publications have left their stream's cache."""
        for cached in gone:
            self.bytes -= len(cached.message.body)
        while self._order and self._order[0][1] not in self._order[0][0].cache:
            self._order.popleft()
