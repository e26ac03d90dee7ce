"""The redundant routing tree: nodes of one or several brokers, and a leaf for each broker (section 2).

1. Nodes form a tree. Any two brokers of neighbouring nodes are linked, and any two brokers of one node.
2. The paper has clients at edge nodes, which hold one broker, and lets a broker elsewhere implement a logical leaf of
   its own. Here every broker has such a leaf, attached to the node that it is in; it lies in the broker's process, so
   that the link to it never fails. Brokers of one node reach each other's leaves over the links within the node.
3. Nodes are numbered from 0; the leaf of the broker with place p in the sorted names has the number of nodes plus p.
   Vectors have an element for each leaf.

`prepare` makes the tree from the overlay attribute `node` and gives it to all brokers. A broker without that
attribute is a node of its own, so that every tree of brokers is a redundant tree as it is. In an overlay that is no
tree and where no broker has the attribute, brokers with the same neighbours, each counted among its own, are one node:
a full mesh is a single node.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import combinations, product

import msgspec

from broker_service.messages import BrokerId
from broker_service.routing.options import Preparation

NODE = "node"
"""The overlay attribute that names a broker's node."""

NodeNumber = int


class RoutingTree(msgspec.Struct, frozen=True, array_like=True, dict=True):
    """The whole tree."""

    nodes: tuple[tuple[BrokerId, ...], ...]
    """Members of each node, sorted."""
    edges: tuple[tuple[NodeNumber, NodeNumber], ...]
    """Neighbouring nodes, each pair once."""

    @cached_property
    def brokers(self) -> list[BrokerId]:
        """All brokers by name; their places number the leaves."""
        return sorted(broker for members in self.nodes for broker in members)

    @cached_property
    def leaves(self) -> Mapping[BrokerId, NodeNumber]:
        """The leaf of each broker."""
        return {broker: len(self.nodes) + place for place, broker in enumerate(self.brokers)}

    @cached_property
    def node_of(self) -> Mapping[BrokerId, NodeNumber]:
        """The node of each broker."""
        return {broker: number for number, members in enumerate(self.nodes) for broker in members}

    @cached_property
    def neighbours(self) -> Mapping[NodeNumber, Sequence[NodeNumber]]:
        """Neighbouring nodes of each node, in order of their numbers."""
        found: defaultdict[NodeNumber, list[NodeNumber]] = defaultdict(list)
        for a, b in sorted(self.edges):
            found[a].append(b)
            found[b].append(a)
        return found

    def leaves_behind(self, node: NodeNumber, source: NodeNumber) -> frozenset[NodeNumber]:
        """Leaves on a neighbour's side of the edge between a node and that neighbour."""
        found: list[NodeNumber] = []
        waiting = [(source, node)]
        while waiting:
            at, former = waiting.pop()
            found += [self.leaves[broker] for broker in self.nodes[at]]
            waiting += [(other, at) for other in self.neighbours.get(at, ()) if other != former]
        return frozenset(found)


def tree_from(preparation: Preparation) -> RoutingTree:
    """The tree of an overlay. Raises `ValueError`, with the reason, when the overlay is not a redundant tree."""
    members: defaultdict[str, list[BrokerId]] = defaultdict(list)
    linked = {frozenset(link[:2]) for link in preparation.links}
    name_of = _names(preparation, linked)
    for broker in sorted(name_of):
        members[name_of[broker]].append(broker)
    number = {name: place for place, name in enumerate(members)}
    between = {frozenset(number[name_of[broker]] for broker in pair) for pair in linked}
    edges = tuple(sorted((min(pair), max(pair)) for pair in between if len(pair) == 2))
    tree = RoutingTree(tuple(map(tuple, members.values())), edges)
    _require_tree(tree)
    for pair in _needed_links(tree):
        if frozenset(pair) not in linked:
            raise _not_redundant(f"brokers {pair[0]} and {pair[1]} of one node or of neighbouring nodes are not linked")
    return tree


def _names(preparation: Preparation, linked: Collection[frozenset[BrokerId]]) -> Mapping[BrokerId, str]:
    """The node of each broker."""
    brokers = preparation.brokers
    if any(NODE in attributes for attributes in brokers.values()) or len(linked) < len(brokers):
        return {broker: str(attributes.get(NODE, broker)) for broker, attributes in brokers.items()}
    around = {broker: {broker} for broker in brokers}
    for a, b in linked:
        around[a].add(b)
        around[b].add(a)
    first: dict[frozenset[BrokerId], BrokerId] = {}
    return {broker: first.setdefault(frozenset(around[broker]), broker) for broker in sorted(brokers)}


def _require_tree(tree: RoutingTree) -> None:
    if len(tree.edges) != len(tree.nodes) - 1:
        raise _not_redundant(f"{len(tree.nodes)} nodes have {len(tree.edges)} edges; a tree has one less than nodes")
    reached = {0}
    waiting = [0]
    while waiting:
        found = [node for node in tree.neighbours.get(waiting.pop(), ()) if node not in reached]
        reached.update(found)
        waiting += found
    if len(reached) < len(tree.nodes):
        raise _not_redundant("nodes are not connected")


def _needed_links(tree: RoutingTree) -> Iterable[tuple[BrokerId, BrokerId]]:
    for members in tree.nodes:
        yield from combinations(members, 2)
    for a, b in tree.edges:
        yield from product(tree.nodes[a], tree.nodes[b])


def _not_redundant(reason: str) -> ValueError:
    return ValueError(
        f"gryphon routes on redundant trees: {reason}; use a topology of kind redundant-tree, or give brokers that "
        "stand in for each other the same attribute `node`"
    )
