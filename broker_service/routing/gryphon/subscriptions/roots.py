"""Roots: the conjunctions that no other one covers, found by a graph, and those of each source around a broker.

Only roots matter further upstream (section 3.3). Edges of the *conjunction graph* lead from covering to covered
conjunctions, transitive ones left out.

A node has no more than `MOST_PARENTS` parents, those whose contents come first, and is looked at anew when it loses one
of so many. So the graph has no more edges than that for each conjunction. When an update has used up its effort
(`covering`), edges are left out, so that there may be roots that others cover, and transitive edges may stay.

The *root sets* of a broker are the conjunctions that each source has announced, and those that the broker announces in
each direction. A *source* is a neighbouring node or a leaf at the broker's own node; a *direction* is a neighbouring
node. A broker announces to a direction the roots of all conjunctions from the other sources. Roots differ by direction,
because a conjunction that came from there covers nothing that is announced there. The paper describes one direction,
and leaves the others to repetition (section 2).

One conjunction graph serves all directions. Its nodes carry their sources; a node also inherits the sources of all
nodes above it. It is a root for direction D if it has a source other than D and inherits none other than D. So it is
enough to know of the inherited sources whether there are none, one or several.
"""

from __future__ import annotations

import enum
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from hashlib import blake2b
from typing import Final, Generic, NamedTuple, TypeVar

from broker_service.routing.gryphon.overlay import NodeNumber
from broker_service.routing.gryphon.subscriptions.conjunctions import Conjunction
from broker_service.routing.gryphon.subscriptions.covering import Covering, Effort

Payload = TypeVar("Payload")

MOST_PARENTS: Final = 32
_EDGES_A_UNIT: Final = 16
"""Edges that are looked through for a unit of effort."""


@dataclass(slots=True, eq=False)
class Node(Generic[Payload]):
    """A conjunction in the graph."""

    conjunction: Conjunction
    payload: Payload
    """Data of the graph's user."""
    parents: dict[bytes, Node[Payload]] = field(default_factory=dict)
    """Nodes that cover this one immediately, by content."""
    children: dict[bytes, Node[Payload]] = field(default_factory=dict)
    """Nodes that this one covers immediately, by content."""


class ConjunctionGraph(Generic[Payload]):
    """A conjunction graph, kept up to date as conjunctions are added and removed."""

    def __init__(self, covering: Covering) -> None:
        self._covering = covering
        self.nodes: dict[bytes, Node[Payload]] = {}
        """The nodes by their contents; `add` and `remove` alone change it."""

    @property
    def effort(self) -> Effort:
        """The effort that is left to the update that goes on."""
        return self._covering.effort

    @property
    def roots(self) -> dict[bytes, Conjunction]:
        """Conjunctions that no other one covers, by their contents."""
        return {body: node.conjunction for body, node in self.nodes.items() if not node.parents}

    def add(self, conjunction: Conjunction, payload: Payload) -> Node[Payload]:
        """Adds a conjunction that is not there."""
        nodes = self.nodes
        node = Node(conjunction, payload)
        below, above = self._covering.add(conjunction)
        children = [nodes[body] for body in sorted(below) if below.isdisjoint(nodes[body].parents)]
        if above:
            self._link_to_parents(node, above)
        for child in children:
            for parent in node.parents:
                if child.parents.pop(parent, None) is not None:
                    del nodes[parent].children[child.conjunction.body]
            _link(node, child)
        nodes[conjunction.body] = node
        return node

    def remove(self, node: Node[Payload]) -> None:
        """Removes a node. Those that it covered stay covered by those that covered it."""
        body = node.conjunction.body
        del self.nodes[body]
        self._covering.remove(node.conjunction)
        for parent in node.parents.values():
            del parent.children[body]
        for child in node.children.values():
            had_most = len(child.parents) >= MOST_PARENTS
            del child.parents[body]
            if had_most:
                self._link_to_parents(child, self._covering.above(child.conjunction))
                continue
            for parent in node.parents.values():
                if not self._is_between(parent, child):
                    _link(parent, child)

    def bottom_up(self, conjunctions: Sequence[Conjunction]) -> Iterator[Conjunction]:
        """Conjunctions that are in the graph, those that are covered first: removed in this order, no edges are made
        between them."""
        bodies = {conjunction.body: conjunction for conjunction in conjunctions}
        edges = {body: [child for child in self.nodes[body].children if child in bodies] for body in bodies}
        for body in TopologicalSorter(edges).static_order():
            yield bodies[body]

    def _link_to_parents(self, node: Node[Payload], above: set[bytes]) -> None:
        """Makes the edges to what covers a node immediately, of all that cover it."""
        nodes = self.nodes
        for body in sorted(above):
            children = nodes[body].children
            if not self.effort.spend(1 + min(len(children), len(above)) // _EDGES_A_UNIT):
                return
            if children.keys().isdisjoint(above):
                _link(nodes[body], node)

    def _is_between(self, upper: Node[Payload], lower: Node[Payload]) -> bool:
        """True when some parent of the lower node is below the upper one, so that an edge would be transitive."""
        if self.effort.left <= 0:
            return False
        return any(
            other is not upper and self._covering.is_above(upper.conjunction, other.conjunction)
            for other in lower.parents.values()
        )


def _link(parent: Node[Payload], child: Node[Payload]) -> None:
    """Makes an edge, unless the child has as many parents as a node may have."""
    if len(child.parents) < MOST_PARENTS:
        parent.children[child.conjunction.body] = child
        child.parents[parent.conjunction.body] = parent


def fingerprint(body: bytes) -> int:
    """64 bits that stand for a content."""
    return int.from_bytes(blake2b(body, digest_size=8).digest(), "big")


class ConjunctionSet:
    """Conjunctions, each once, with a fingerprint of the whole set."""

    def __init__(self, members: Iterable[Conjunction] = ()) -> None:
        self.by_body: dict[bytes, Conjunction] = {}
        """The conjunctions by their contents; `add` and `remove` alone change it."""
        self.fingerprint = 0
        """Equal for equal sets; for two different ones, with a probability of 2**-64."""
        for conjunction in members:
            self.add(conjunction)

    def __contains__(self, body: bytes) -> bool:
        return body in self.by_body

    def __iter__(self) -> Iterator[Conjunction]:
        return iter(self.by_body.values())

    def __len__(self) -> int:
        return len(self.by_body)

    @property
    def bodies(self) -> tuple[bytes, ...]:
        return tuple(self.by_body)

    def add(self, conjunction: Conjunction) -> bool:
        """Adds a conjunction; false when it was there."""
        if conjunction.body in self.by_body:
            return False
        self.by_body[conjunction.body] = conjunction
        self.fingerprint ^= fingerprint(conjunction.body)
        return True

    def remove(self, body: bytes) -> bool:
        """Removes the conjunction of a content; false when there was none."""
        if self.by_body.pop(body, None) is None:
            return False
        self.fingerprint ^= fingerprint(body)
        return True


class Several(enum.Enum):
    """More than one source."""

    SEVERAL = enum.auto()


Inherited = NodeNumber | Several | None


class Difference(NamedTuple):
    """Roots that a change adds and removes, each once."""

    added: tuple[Conjunction, ...] = ()
    removed: tuple[Conjunction, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed)


@dataclass(slots=True)
class _Sources:
    own: dict[NodeNumber, None] = field(default_factory=dict)
    inherited: Inherited = None


class RootSets:
    """The root sets of one broker, for all directions."""

    def __init__(self, sources: Iterable[NodeNumber], directions: Collection[NodeNumber], covering: Covering) -> None:
        self.received: Final[Mapping[NodeNumber, ConjunctionSet]] = {source: ConjunctionSet() for source in sources}
        """The roots of each source, as far as this broker knows."""
        self.announced: Final[Mapping[NodeNumber, ConjunctionSet]] = {each: ConjunctionSet() for each in directions}
        """The roots that this broker announces to each direction."""
        self._effort = covering.effort
        self._graph: ConjunctionGraph[_Sources] = ConjunctionGraph(covering)
        self._touched: dict[bytes, Node[_Sources]] = {}
        """Nodes whose directions may have changed since `update` began; those that were removed have no source."""

    @property
    def graph(self) -> ConjunctionGraph[_Sources]:
        return self._graph

    def update(
        self, source: NodeNumber, added: Iterable[Conjunction], removed: Iterable[Conjunction]
    ) -> Mapping[NodeNumber, Difference]:
        """Changes the roots of a source, and returns the differences of all directions."""
        received = self.received[source]
        self._touched = {}
        added, removed = tuple(added), tuple(removed)
        self._effort.grant(len(added), len(removed))
        leaving = [conjunction for conjunction in removed if received.remove(conjunction.body)]
        if leaving:
            for conjunction in tuple(self._graph.bottom_up(leaving)):
                self._leave(conjunction, source)
        for conjunction in added:
            if received.add(conjunction):
                self._join(conjunction, source)
        return {direction: self._settle(direction) for direction in self.announced}

    def _join(self, conjunction: Conjunction, source: NodeNumber) -> None:
        node = self._graph.nodes.get(conjunction.body)
        if node is None:
            node = self._graph.add(conjunction, _Sources())
        node.payload.own[source] = None
        self._touched[conjunction.body] = node
        self._pass_down([node, *node.children.values()])

    def _leave(self, conjunction: Conjunction, source: NodeNumber) -> None:
        node = self._graph.nodes[conjunction.body]
        del node.payload.own[source]
        self._touched[conjunction.body] = node
        children = list(node.children.values())
        if not node.payload.own:
            self._graph.remove(node)
        self._pass_down(children)

    def _pass_down(self, nodes: list[Node[_Sources]]) -> None:
        """Computes anew what nodes inherit, and nodes below them as far as that changes."""
        waiting = deque(nodes)
        awaited = {node.conjunction.body for node in nodes}
        while waiting:
            node = waiting.popleft()
            awaited.discard(node.conjunction.body)
            inherited = _inherited(node)
            if inherited != node.payload.inherited:
                node.payload.inherited = inherited
                self._touched[node.conjunction.body] = node
                further = [child for body, child in node.children.items() if body not in awaited]
                waiting.extend(further)
                awaited.update(child.conjunction.body for child in further)

    def _settle(self, direction: NodeNumber) -> Difference:
        """Brings the set that is announced to a direction in line with the graph."""
        announced = self.announced[direction]
        added, removed = [], []
        for body, node in self._touched.items():
            if self._is_root(node, direction):
                if announced.add(node.conjunction):
                    added.append(node.conjunction)
            elif announced.remove(body):
                removed.append(node.conjunction)
        return Difference(tuple(added), tuple(removed))

    def _is_root(self, node: Node[_Sources], direction: NodeNumber) -> bool:
        own, inherited = node.payload.own, node.payload.inherited
        return bool(own) and inherited in (None, direction) and own.keys() != {direction}


def _inherited(node: Node[_Sources]) -> Inherited:
    """The sources of all nodes above a node."""
    found: Inherited = None
    for parent in node.parents.values():
        for source in (*parent.payload.own, parent.payload.inherited):
            if source is None or source == found:
                continue
            if found is not None or source is Several.SEVERAL:
                return Several.SEVERAL
            found = source
    return found
