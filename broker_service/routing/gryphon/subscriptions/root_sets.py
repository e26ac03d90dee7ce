"""Root sets of a broker: the conjunctions that each source has announced, and those it announces in each direction.

A *source* is a neighbouring node or a leaf at the broker's own node; a *direction* is a neighbouring node. A broker
announces to a direction the roots of all conjunctions from the other sources. Roots differ by direction, because a
conjunction that came from there covers nothing that is announced there. The paper describes one direction, and leaves
the others to repetition (section 2).

One conjunction graph serves all directions. Its nodes carry their sources; a node also inherits the sources of all
nodes above it. It is a root for direction D if it has a source other than D and inherits none other than D. So it is
enough to know of the inherited sources whether there are none, one or several.
"""

from __future__ import annotations

import enum
from collections import deque
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from broker_service.routing.gryphon.subscriptions.conjunction_graph import ConjunctionGraph, Node
from broker_service.routing.gryphon.subscriptions.conjunctions import Conjunction, ConjunctionSet
from broker_service.routing.gryphon.subscriptions.covering import Covering

NodeNumber = int
"""A node of the routing tree (`routing_tree`)."""


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
