"""Overlays built from smaller ones: SCOT and redundant trees."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, count, product
from string import ascii_uppercase

import networkx as nx

from topology.link_properties import BrokerId, OverlayError
from topology.shapes.naming import at_least


def scot(acyclic: nx.Graph[BrokerId], clusters: int) -> nx.Graph[BrokerId]:
    """A structured cyclic overlay topology: the Cartesian product of an acyclic and a complete factor.

    Each node of the acyclic factor becomes a region of `clusters` brokers, all linked to each other; brokers of the
    same index form a cluster with the acyclic factor's shape. A broker's attributes are its `region` (the label) and
    its `cluster` (the index, from 0), and its id is the two together. The diameter is the acyclic factor's and one
    more. (OctopiA, sections 3 and 4.1)
    """
    at_least(clusters, 1, "a SCOT", "cluster")
    if not nx.is_tree(acyclic):
        raise OverlayError("the acyclic factor of a SCOT must be connected and without cycles")
    graph: nx.Graph[BrokerId] = nx.Graph()
    for region, cluster in product(acyclic, range(clusters)):
        graph.add_node(f"{region}{cluster}", region=region, cluster=cluster)
    if len(graph) < len(acyclic) * clusters:
        raise OverlayError("two brokers of the SCOT get one name: let no region's label end in a digit")
    for cluster in range(clusters):
        graph.add_edges_from((f"{a}{cluster}", f"{b}{cluster}") for a, b in acyclic.edges)
    for region in acyclic:
        graph.add_edges_from(combinations((f"{region}{cluster}" for cluster in range(clusters)), 2))
    return graph


def redundant_tree(tree: nx.Graph[BrokerId], replicas: int) -> nx.Graph[BrokerId]:
    """A redundant routing tree: the tree's inner nodes hold several brokers each, its edge nodes one.

    Edge nodes are the root, which is the tree's first node, and the leaves. Brokers of one node are linked to each
    other and to every broker of a neighbouring node. A broker's attributes are its `node`, the node's `level` (its
    distance from the root) and its `replica`, from 1; the only broker of a node is called after the node, others after
    node and replica. (Gryphon, section 2 and figure 1)
    """
    at_least(replicas, 1, "an inner node of a redundant tree")
    if not nx.is_tree(tree):
        raise OverlayError("the tree of a redundant tree must be connected and without cycles")
    root = next(iter(tree))
    levels = nx.single_source_shortest_path_length(tree, root)
    graph: nx.Graph[BrokerId] = nx.Graph()
    members: dict[BrokerId, list[BrokerId]] = {}
    for node in tree:
        alone = node == root or tree.degree(node) == 1
        members[node] = [node] if alone else [_replica(node, number) for number in range(1, replicas + 1)]
        for number, broker in enumerate(members[node], start=1):
            if broker in graph:
                raise OverlayError(f"two brokers of the redundant tree get the name {broker}; call the node otherwise")
            graph.add_node(broker, node=node, level=levels[node], replica=number)
        graph.add_edges_from(combinations(members[node], 2))
    for a, b in tree.edges:
        graph.add_edges_from(product(members[a], members[b]))
    return graph


def lettered(graph: nx.Graph[BrokerId]) -> nx.Graph[BrokerId]:
    """A copy of a graph with nodes called A, B, ..., Z, AA, AB, ..., as the factors of a SCOT are."""
    renamed: nx.Graph[BrokerId] = nx.relabel_nodes(graph, dict(zip(graph, _letters(), strict=False)))
    return renamed


def _replica(node: BrokerId, number: int) -> BrokerId:
    """A dot keeps replica 1 of the node N2 apart from the node N21."""
    return f"{node}.{number}" if node[-1:].isdigit() else f"{node}{number}"


def _letters() -> Iterator[str]:
    for length in count(1):
        for letters in product(ascii_uppercase, repeat=length):
            yield "".join(letters)
