"""The conjunction graph: edges lead from covering to covered conjunctions, transitive ones left out (section 3.3).

The *roots* are the conjunctions that no other one covers; only they matter further upstream.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from broker_service.routing.gryphon.subscriptions.conjunctions import Conjunction, is_above
from broker_service.routing.gryphon.subscriptions.covering import Covering

Payload = TypeVar("Payload")


@dataclass(slots=True, eq=False)
class Node(Generic[Payload]):
    """A conjunction in the graph."""

    conjunction: Conjunction
    payload: Payload
    """Belongs to the user of the graph."""
    parents: dict[bytes, Node[Payload]] = field(default_factory=dict)
    """Immediately covering ones, by content."""
    children: dict[bytes, Node[Payload]] = field(default_factory=dict)
    """Immediately covered ones, by content."""


class ConjunctionGraph(Generic[Payload]):
    """See the module."""

    def __init__(self, covering: Covering) -> None:
        self._covering = covering
        self._nodes: dict[bytes, Node[Payload]] = {}

    def __len__(self) -> int:
        return len(self._nodes)

    def __iter__(self) -> Iterator[Node[Payload]]:
        return iter(self._nodes.values())

    def get(self, body: bytes) -> Node[Payload] | None:
        """The node of a content."""
        return self._nodes.get(body)

    @property
    def roots(self) -> list[Node[Payload]]:
        """Nodes that no other one covers."""
        return [node for node in self._nodes.values() if not node.parents]

    def add(self, conjunction: Conjunction, payload: Payload) -> Node[Payload]:
        """Adds a conjunction that is not there."""
        nodes = self._nodes
        above = {other.body for other in self._covering.above(conjunction)}
        below = {other.body for other in self._covering.below(conjunction)}
        node = Node(conjunction, payload)
        node.parents = {body: nodes[body] for body in sorted(above) if above.isdisjoint(nodes[body].children)}
        node.children = {body: nodes[body] for body in sorted(below) if below.isdisjoint(nodes[body].parents)}
        for parent in node.parents.values():
            for child in node.children.values():
                if parent.children.pop(child.conjunction.body, None) is not None:
                    del child.parents[parent.conjunction.body]
            parent.children[conjunction.body] = node
        for child in node.children.values():
            child.parents[conjunction.body] = node
        nodes[conjunction.body] = node
        self._covering.add(conjunction)
        return node

    def remove(self, node: Node[Payload]) -> None:
        """Removes a node. Those that it covered stay covered by those that covered it."""
        body = node.conjunction.body
        del self._nodes[body]
        self._covering.remove(node.conjunction)
        for parent in node.parents.values():
            del parent.children[body]
        for child in node.children.values():
            del child.parents[body]
        for child in node.children.values():
            for parent in node.parents.values():
                if not _is_between(parent, child):
                    parent.children[child.conjunction.body] = child
                    child.parents[parent.conjunction.body] = parent


def _is_between(upper: Node[Payload], lower: Node[Payload]) -> bool:
    """True when some parent of the lower node is below the upper one, so that an edge would be transitive."""
    return any(
        other is not upper and is_above(upper.conjunction, other.conjunction) for other in lower.parents.values()
    )
