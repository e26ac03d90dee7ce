"""The shapes of overlays, as graphs whose nodes are broker ids and carry the brokers' overlay attributes.

Brokers are called B1, B2, ... except in a SCOT, where a broker is called after its region and its cluster (A0, A1, B0).
Every random choice comes from the generator passed in. Impossible sizes raise `OverlayError`.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Iterator, Sequence
from itertools import count, product
from string import ascii_uppercase

import networkx as nx

from topology.model import BrokerId, OverlayError

_SWAPS_PER_LINK = 10
"""Degree-preserving swaps for each link of a cyclic overlay: enough that nothing of the initial ring is left."""


def line(brokers: int) -> nx.Graph[BrokerId]:
    """B1 - B2 - ... - Bn."""
    return _named(nx.path_graph(_at_least(brokers, 1, "a line")))


def ring(brokers: int) -> nx.Graph[BrokerId]:
    """A line whose ends are linked."""
    return _named(nx.cycle_graph(_at_least(brokers, 3, "a ring")))


def star(brokers: int) -> nx.Graph[BrokerId]:
    """B1 in the middle, linked to all others."""
    return _named(nx.star_graph(_at_least(brokers, 1, "a star") - 1))


def full(brokers: int) -> nx.Graph[BrokerId]:
    """A link between every two brokers."""
    return _named(nx.complete_graph(_at_least(brokers, 1, "a full mesh")))


def tree(brokers: int, branching: int = 2) -> nx.Graph[BrokerId]:
    """A balanced tree with root B1, filled level by level; each broker's attribute `level` is its distance to B1."""
    _at_least(branching, 1, "a tree's branching", "child per broker")
    graph = _named(nx.full_rary_tree(branching, _at_least(brokers, 1, "a tree")))
    nx.set_node_attributes(graph, dict(nx.single_source_shortest_path_length(graph, "B1")), "level")
    return graph


def random_tree(brokers: int, rng: random.Random) -> nx.Graph[BrokerId]:
    """A tree drawn uniformly from all labelled trees of this size."""
    return _named(nx.random_labeled_tree(_at_least(brokers, 1, "a tree"), seed=rng))


def cyclic(brokers: int, degree: float, rng: random.Random) -> nx.Graph[BrokerId]:
    """A random connected overlay of round(brokers * degree / 2) links, every broker's degree near the mean.

    A ring (a line, when there are too few links for a ring) gets further links between brokers of the lowest degrees;
    then random swaps of links' ends, which keep degrees and connectedness, remove what the ring had of order.
    """
    links = round(_at_least(brokers, 2, "a cyclic overlay") * degree / 2)
    least, most = brokers - 1, brokers * (brokers - 1) // 2
    if not least <= links <= most:
        raise OverlayError(
            f"{brokers} brokers cannot have a mean degree of {degree:g}: "
            f"it takes {2 * least / brokers:.3g} to connect them, and {brokers - 1} is a full mesh"
        )
    order = rng.sample(range(brokers), brokers)
    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(range(brokers))
    nx.add_path(graph, order)
    if links >= brokers > 2:
        graph.add_edge(order[-1], order[0])
    _link_lowest_degrees(graph, links, rng)
    if brokers >= 4 and links < most:
        nx.connected_double_edge_swap(graph, nswap=_SWAPS_PER_LINK * links, seed=rng.getrandbits(32))
    return _named(graph)


def scot(acyclic: nx.Graph[BrokerId], clusters: int) -> nx.Graph[BrokerId]:
    """A structured cyclic overlay topology: the Cartesian product of an acyclic and a complete factor.

    Each node of the acyclic factor becomes a region of `clusters` brokers, all linked to each other; brokers of the
    same index form a cluster with the acyclic factor's shape. A broker's attributes are its `region` (the label) and
    its `cluster` (the index, from 0), and its id is the two together. (OctopiA, sections 3 and 4.1)
    """
    _at_least(clusters, 1, "a SCOT", "cluster")
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
        graph.add_edges_from((f"{region}{i}", f"{region}{j}") for i in range(clusters) for j in range(i + 1, clusters))
    return graph


def lettered(graph: nx.Graph[BrokerId]) -> nx.Graph[BrokerId]:
    """The same graph with nodes called A, B, ..., Z, AA, AB, ..., as the factors of a SCOT are."""
    renamed: nx.Graph[BrokerId] = nx.relabel_nodes(graph, dict(zip(graph, _letters(), strict=False)))
    return renamed


def explicit(links: Sequence[tuple[BrokerId, BrokerId]], brokers: Sequence[BrokerId] = ()) -> nx.Graph[BrokerId]:
    """An overlay link by link; brokers without a link (there may be one alone) are named in `brokers`."""
    graph: nx.Graph[BrokerId] = nx.Graph()
    graph.add_nodes_from(brokers)
    for a, b in links:
        if graph.has_edge(a, b):
            raise OverlayError(f"link {a} - {b} is listed twice")
        graph.add_edge(a, b)
    return graph


def _named(graph: nx.Graph[int]) -> nx.Graph[BrokerId]:
    """Nodes 0, 1, ... become B1, B2, ..., in this order."""
    named: nx.Graph[BrokerId] = nx.Graph()
    named.add_nodes_from(f"B{node + 1}" for node in sorted(graph))
    named.add_edges_from((f"B{a + 1}", f"B{b + 1}") for a, b in sorted((min(e), max(e)) for e in graph.edges))
    return named


def _link_lowest_degrees(graph: nx.Graph[int], links: int, rng: random.Random) -> None:
    """Adds links until there are so many, each between two brokers of the lowest degrees, ties broken at random."""
    waiting = [(graph.degree(node), rng.random(), node) for node in graph]
    heapq.heapify(waiting)
    while graph.number_of_edges() < links:
        a = heapq.heappop(waiting)[2]
        passed_over = []
        while waiting:
            candidate = heapq.heappop(waiting)
            if graph.has_edge(a, candidate[2]):
                passed_over.append(candidate)
                continue
            graph.add_edge(a, candidate[2])
            for node in (a, candidate[2]):
                heapq.heappush(waiting, (graph.degree(node), rng.random(), node))
            break
        for entry in passed_over:
            heapq.heappush(waiting, entry)


def _letters() -> Iterator[str]:
    for length in count(1):
        for letters in product(ascii_uppercase, repeat=length):
            yield "".join(letters)


def _at_least(value: int, least: int, what: str, unit: str = "broker") -> int:
    if value < least:
        raise OverlayError(f"{what} needs at least {least} {unit}{'s' if least > 1 else ''}, not {value}")
    return value
