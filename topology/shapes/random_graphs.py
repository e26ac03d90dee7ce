"""Random connected overlays with cycles, of a mean degree or of one degree for all.

Both start with an ordered overlay that is connected and has the right degrees; then random swaps of links' ends, which
preserve degrees and connectedness, destroy its order.
"""

from __future__ import annotations

import heapq
import random

import networkx as nx

from topology.link_properties import BrokerId, OverlayError
from topology.shapes.naming import at_least, numbered

_SWAPS_PER_LINK = 10
"""Degree-preserving swaps for each link, enough to destroy the initial order."""


def cyclic(brokers: int, degree: float, rng: random.Random) -> nx.Graph[BrokerId]:
    """A random connected overlay of round(brokers * degree / 2) links, every broker's degree near the mean.

    It starts as a ring (a line, when there are too few links for a ring) with further links between brokers of the
    lowest degrees.
    """
    links = round(at_least(brokers, 2, "a cyclic overlay") * degree / 2)
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
    return numbered(_swapped(graph, rng))


def random_regular(brokers: int, degree: int, rng: random.Random) -> nx.Graph[BrokerId]:
    """A random connected overlay in which every broker has exactly `degree` links.

    It starts as a ring whose brokers are linked to the nearest ones on either side.
    """
    at_least(brokers, 2, "a random regular overlay")
    if brokers * degree % 2:
        raise OverlayError(f"{brokers} brokers cannot all have {degree} links: one of the two numbers must be even")
    if not (2 <= degree < brokers or brokers == degree + 1):
        raise OverlayError(
            f"{brokers} brokers cannot be connected with {degree} links each: it takes 2, and {brokers - 1} is a "
            "full mesh"
        )
    jumps = [*range(1, degree // 2 + 1), *([brokers // 2] if degree % 2 else [])]
    return numbered(_swapped(nx.circulant_graph(brokers, jumps), rng))


def _swapped(graph: nx.Graph[int], rng: random.Random) -> nx.Graph[int]:
    brokers, links = len(graph), graph.number_of_edges()
    if brokers >= 4 and links < brokers * (brokers - 1) // 2:
        nx.connected_double_edge_swap(graph, nswap=_SWAPS_PER_LINK * links, seed=rng.getrandbits(32))
    return graph


def _link_lowest_degrees(graph: nx.Graph[int], links: int, rng: random.Random) -> None:
    """Adds links up to a total, each between two brokers of the lowest degrees, ties broken at random."""
    waiting = [(graph.degree(node), rng.random(), node) for node in graph]
    heapq.heapify(waiting)
    for _ in range(links - graph.number_of_edges()):
        a, b, passed_over = _next_pair(graph, waiting)
        graph.add_edge(a, b)
        for node in (a, b):
            heapq.heappush(waiting, (graph.degree(node), rng.random(), node))
        for entry in passed_over:
            heapq.heappush(waiting, entry)


Waiting = list[tuple[int, float, int]]
"""A heap of brokers by degree; the second number breaks ties."""


def _next_pair(graph: nx.Graph[int], waiting: Waiting) -> tuple[int, int, Waiting]:
    """Takes two brokers without a common link off the heap; the third value is the brokers passed over."""
    while True:
        a = heapq.heappop(waiting)[2]
        passed_over: Waiting = []
        while waiting:
            candidate = heapq.heappop(waiting)
            if not graph.has_edge(a, candidate[2]):
                return a, candidate[2], passed_over
            passed_over.append(candidate)
        waiting.extend(passed_over)  # a is linked to all that are left, and stays away
