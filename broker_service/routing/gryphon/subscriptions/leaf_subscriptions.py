"""Subscriptions of a leaf's clients: their virtual start times, and the changes that the leaf announces (section 3.3).

1. A conjunction that others cover starts with the earliest of those; another one starts at the present time. Down the
   conjunction graph start times never grow, so that the immediately covering ones suffice.
2. A subscription is a disjunction of conjunctions. It starts with the latest of them, because before that some of its
   publications may be filtered out on the way.
3. Operations are processed in batches. When a batch has changed the roots, the leaf announces the difference at the
   present time, and its clock advances. It also announces a batch that leaves the roots as they were and yet has a
   conjunction which starts at the present time (one that was withdrawn and made again): the paper's rule would leave
   that one waiting for somebody else's change.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

from broker_service.routing.gryphon.subscriptions.conjunctions import Conjunction
from broker_service.routing.gryphon.subscriptions.covering import Covering
from broker_service.routing.gryphon.subscriptions.roots import ConjunctionGraph, ConjunctionSet, Node
from broker_service.routing.gryphon.virtual_time import VirtualClock, VirtualTime

Subscriber = TypeVar("Subscriber")


@dataclass(slots=True)
class _Standing(Generic[Subscriber]):
    """A conjunction's virtual start time and its subscriber list."""

    start: VirtualTime
    subscribers: dict[Subscriber, None] = field(default_factory=dict)


class LeafChange(NamedTuple):
    """Changes of the leaf's roots in one tick."""

    time: VirtualTime
    added: tuple[Conjunction, ...]
    removed: tuple[Conjunction, ...]


class LeafSubscriptions(Generic[Subscriber]):
    """The subscriptions of one leaf's clients, and the roots that the leaf has announced for them."""

    def __init__(self, clock: VirtualClock, covering: Covering) -> None:
        self._clock = clock
        self._effort = covering.effort
        self._graph: ConjunctionGraph[_Standing[Subscriber]] = ConjunctionGraph(covering)
        self._conjunctions: dict[Subscriber, tuple[Conjunction, ...]] = {}
        self._starts: dict[Subscriber, VirtualTime] = {}
        self._first_start: VirtualTime | None = None
        """The earliest start of a subscription, kept because every publication of a stream that the leaf does not
        follow asks for it."""
        self._announced = ConjunctionSet()
        self._begun = False
        """True when a conjunction starts at the present time."""

    def __len__(self) -> int:
        return len(self._starts)

    @property
    def announced(self) -> ConjunctionSet:
        """The roots that the leaf has announced."""
        return self._announced

    @property
    def first_start(self) -> VirtualTime | None:
        """The earliest start of a subscription; None when there is none."""
        return self._first_start

    @property
    def graph(self) -> ConjunctionGraph[_Standing[Subscriber]]:
        return self._graph

    def start(self, subscriber: Subscriber) -> VirtualTime:
        """The virtual start time of a subscription that stands."""
        return self._starts[subscriber]

    def started(self, reached: VirtualTime) -> list[Subscriber]:
        """The subscriptions that start at a time or before."""
        return [subscriber for subscriber, start in self._starts.items() if start <= reached]

    def subscribe(self, subscriber: Subscriber, conjunctions: Iterable[Conjunction]) -> VirtualTime:
        """Adds a subscription under a name that is not in use, and returns its virtual start time."""
        wanted = self._conjunctions[subscriber] = tuple({each.body: each for each in conjunctions}.values())
        self._effort.grant(len(wanted))
        start = max([self._join(conjunction, subscriber) for conjunction in wanted], default=0)
        self._starts[subscriber] = start
        self._first_start = start if self._first_start is None else min(self._first_start, start)
        return start

    def unsubscribe(self, subscriber: Subscriber) -> None:
        """Removes a subscription that stands."""
        if self._starts.pop(subscriber) == self._first_start:
            self._first_start = min(self._starts.values(), default=None)
        withdrawn = self._conjunctions.pop(subscriber)
        self._effort.grant(0, len(withdrawn))
        for conjunction in withdrawn:
            node = self._graph.nodes[conjunction.body]
            del node.payload.subscribers[subscriber]
            if not node.payload.subscribers:
                self._graph.remove(node)

    def flush(self) -> LeafChange | None:
        """Ends a batch; the change to announce, or None when there is none."""
        roots, announced = self._graph.roots, self._announced.by_body
        added = tuple([root for body, root in roots.items() if body not in announced])
        removed = tuple([root for body, root in announced.items() if body not in roots])
        begun, self._begun = self._begun, False
        if not (added or removed or begun):
            return None
        for root in removed:
            self._announced.remove(root.body)
        for root in added:
            self._announced.add(root)
        return LeafChange(self._clock.advance(), added, removed)

    def _join(self, conjunction: Conjunction, subscriber: Subscriber) -> VirtualTime:
        node = self._graph.nodes.get(conjunction.body)
        if node is None:
            now = self._clock.time
            node = self._graph.add(conjunction, _Standing(now))
            if node.parents or node.children:
                node.payload.start = min([other.payload.start for other in self._covering(node)], default=now)
            self._begun |= node.payload.start == now
        node.payload.subscribers[subscriber] = None
        return node.payload.start

    def _covering(self, node: Node[_Standing[Subscriber]]) -> Iterable[Node[_Standing[Subscriber]]]:
        """Nodes from which a new one gets its start: its parents, and children that match the same publications."""
        yield from node.parents.values()
        for child in node.children.values():
            if self._effort.covers(child.conjunction, node.conjunction):
                yield child
