"""The redundant overlay: a tree of nodes of one or several brokers, with a leaf for each broker (section 2).

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

One broker sees of the tree the sources of subscriptions around it, and the leaves behind each of them (`LocalView`).

Of the brokers of a node any will do, and any link (section 3.1). Of the choices in `PATHS`, `hash` takes the broker
whose place is the publication's hash, modulo the brokers of the node, or the next one that can be reached. The hash is
the number of the stream, or comes from an attribute (`hash_of`). `message` takes them in turn, by position.
`least-loaded` takes the link with the shortest queue.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from zlib import crc32

import msgspec

from broker_service.language import Value
from broker_service.messages import BrokerId
from broker_service.routing.interface import LinkStatus
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


@dataclass(frozen=True, slots=True)
class LocalView:
    """The part of the routing tree that one broker needs. The *sources* are the neighbouring nodes and the leaves at
    the broker's own node."""

    broker: BrokerId
    node: NodeNumber
    leaf: NodeNumber
    """Leaf of the broker itself."""
    peers: Mapping[BrokerId, NodeNumber]
    """Leaves of the other brokers of the node."""
    members: Mapping[NodeNumber, tuple[BrokerId, ...]]
    """Brokers of the neighbouring nodes."""
    node_of: Mapping[BrokerId, NodeNumber]
    """Nodes of the brokers of neighbouring nodes."""
    leaves: Mapping[BrokerId, NodeNumber]
    """Leaves of all neighbours: of the other brokers of the node, and of those of neighbouring nodes."""
    behind: Mapping[NodeNumber, frozenset[NodeNumber]]
    """Leaves behind each source: on its side of the tree."""
    before: Mapping[NodeNumber, frozenset[NodeNumber]]
    """Leaves on this side of the edge to each neighbouring node."""
    shared: frozenset[NodeNumber]
    """Leaves of which this broker offers news to the brokers of its node: its own, and those behind neighbouring
    nodes."""
    source_of: Mapping[NodeNumber, NodeNumber]
    """The source behind which each leaf is."""

    @classmethod
    def of(cls, tree: RoutingTree, broker: BrokerId) -> LocalView:
        """Raises `KeyError` for a broker that is not in the tree."""
        node = tree.node_of[broker]
        members = {number: tree.nodes[number] for number in tree.neighbours.get(node, ())}
        behind = {tree.leaves[member]: frozenset((tree.leaves[member],)) for member in tree.nodes[node]}
        behind |= {number: tree.leaves_behind(node, number) for number in members}
        every = frozenset(tree.leaves.values())
        return cls(
            broker=broker,
            node=node,
            leaf=tree.leaves[broker],
            peers={member: tree.leaves[member] for member in tree.nodes[node] if member != broker},
            members=members,
            node_of={member: number for number, brokers in members.items() for member in brokers},
            leaves={
                member: tree.leaves[member]
                for brokers in (tree.nodes[node], *members.values())
                for member in brokers
                if member != broker
            },
            behind=behind,
            before={number: every - behind[number] for number in members},
            shared=frozenset((tree.leaves[broker],)).union(*(behind[number] for number in members)),
            source_of={leaf: source for source, leaves in behind.items() for leaf in leaves},
        )


Links = Mapping[BrokerId, LinkStatus]
Path = Callable[[Links, Sequence[BrokerId], int, int], BrokerId | None]
"""The broker for a hash and a position, of a node's brokers; None when no link to them works."""

MOST_HASH = 1 << 32
"""Number above all hashes."""


def hash_of(value: Value | None) -> int:
    """The hash of an attribute's value: an integer's own value, so that a scenario can choose paths; 0 for None."""
    if value is None:
        return 0
    return value % MOST_HASH if isinstance(value, int) else crc32(str(value).encode())


def by_hash(links: Links, members: Sequence[BrokerId], hash: int, position: int) -> BrokerId | None:
    count = len(members)
    first = members[hash % count]
    if links[first].up:
        return first
    for place in range(hash + 1, hash + count):
        if links[members[place % count]].up:
            return members[place % count]
    return None


def by_message(links: Links, members: Sequence[BrokerId], hash: int, position: int) -> BrokerId | None:
    return by_hash(links, members, position, 0)


def by_load(links: Links, members: Sequence[BrokerId], hash: int, position: int) -> BrokerId | None:
    reachable = [member for member in members if links[member].up]
    return min(reachable, key=lambda member: links[member].queue_length, default=None)


PATHS: Mapping[str, Path] = {"hash": by_hash, "message": by_message, "least-loaded": by_load}
