"""Cases on the full mesh of their brokers, for protocols whose brokers may all communicate directly."""

from __future__ import annotations

from itertools import combinations

import networkx as nx

from studies.conformance.model import Case, CaseLink


def on_full_mesh(case: Case) -> Case:
    """The case with a link between any two brokers.

    Links that it lacks take as long as the fastest path over those it has, as if those were the network below.
    """
    graph: nx.Graph[str] = nx.Graph()
    graph.add_nodes_from(case.brokers)
    graph.add_weighted_edges_from((*link.between, link.delay) for link in case.links)
    delays = dict(nx.all_pairs_dijkstra_path_length(graph))
    missing = [pair for pair in combinations(case.brokers, 2) if not graph.has_edge(*pair)]
    links = [CaseLink(between=(a, b)).model_copy(update={"delay": delays[a][b]}) for a, b in missing]
    return case.model_copy(update={"links": (*case.links, *links)})
