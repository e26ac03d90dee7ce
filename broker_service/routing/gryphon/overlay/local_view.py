"""The routing tree as one broker sees it: the sources of subscriptions around it, and the leaves behind each of
them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from broker_service.messages import BrokerId
from broker_service.routing.gryphon.overlay.routing_tree import NodeNumber, RoutingTree


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
