"""The conjunction graph: edges lead from covering to covered conjunctions, transitive ones left out (section 3.3).

The *roots* are the conjunctions that no other one covers; only they matter further upstream.

A node has no more than `MOST_PARENTS` parents, those whose contents come first, and is looked at anew when it loses one
of so many. So the graph has no more edges than that for each conjunction. When an update has used up its effort
(`covering`), edges are left out, so that there may be roots that others cover, and transitive edges may stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from typing import Final, Generic, TypeVar

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
