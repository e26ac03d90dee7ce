"""The tree of announcements, and the ways round failed servers."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_service.routing.medym.announcements.announcement_tree import AnnouncementTree


@pytest.mark.parametrize(
    ("servers", "fan_out", "depth"), [(1, 16, 0), (2, 16, 1), (17, 16, 1), (18, 16, 2), (1000, 16, 3), (9, 2, 3)]
)
def test_the_neighbours_are_those_of_one_shallow_tree(servers: int, fan_out: int, depth: int) -> None:
    announcements = AnnouncementTree(servers, fan_out)
    tree = nx.DiGraph((server, other) for server in range(servers) for other in announcements.neighbours(server))
    tree.add_nodes_from(range(servers))
    assert all(tree.has_edge(b, a) for a, b in tree.edges)
    assert nx.is_tree(tree.to_undirected())
    depths = nx.single_source_shortest_path_length(tree, 0)
    assert max(depths.values()) == depth
    for server in range(1, servers):
        above = announcements.parent(server)
        assert above is not None
        assert depths[above] == depths[server] - 1


@given(st.integers(1, 100), st.integers(2, 16), st.sets(st.integers(0, 99)))
def test_servers_that_work_remain_connected(servers: int, fan_out: int, ended: set[int]) -> None:
    tree = AnnouncementTree(servers, fan_out)
    failed = np.isin(np.arange(servers), list(ended))
    working = np.flatnonzero(~failed).tolist()
    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(working)
    chosen = {server: tree.working_neighbours(server, failed) for server in working}
    graph.add_edges_from((server, other) for server, found in chosen.items() for other in found)
    assert set(graph) == set(working)
    assert not working or nx.is_connected(graph)
    assert all(server in chosen[other] for server in working for other in chosen[server])


def test_without_failures_the_tree_alone_is_chosen() -> None:
    tree, nothing = AnnouncementTree(300, 16), np.zeros(300, np.bool_)
    assert all(tree.working_neighbours(server, nothing) == set(tree.neighbours(server)) for server in range(300))
