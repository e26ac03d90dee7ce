"""Dynamic multicast: the routing invariants, and each function against trees that NetworkX computes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from random import Random

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_service.routing.common.distances import Distances, Servers
from broker_service.routing.common.spanning_tree import spanning_tree
from broker_service.routing.medym.multicast.routing_functions import (
    Branch,
    Multicast,
    balanced_mst,
    close_mst,
    mst,
    multicast_tree,
)

NEAR = 3
"""Candidates of the functions under test, so that small lists have destinations beyond them."""


@st.composite
def splits(draw: st.DrawFn) -> tuple[Distances, int, Servers]:
    """Distances with ties, zeros and directions that differ; a server; destinations in any order."""
    count = draw(st.integers(2, 12))
    cells = draw(st.lists(st.integers(0, 9), min_size=count * count, max_size=count * count))
    server, *destinations = draw(st.permutations(range(count)))
    kept = draw(st.integers(1, len(destinations)))
    return Distances(np.array(cells, float).reshape(count, count)), server, servers(destinations[:kept])


def servers(numbers: Sequence[int]) -> Servers:
    return np.array(numbers, np.uint16)


def overloads(count: int) -> st.SearchStrategy[np.ndarray]:
    return st.lists(st.booleans(), min_size=count, max_size=count).map(np.array)


FUNCTIONS: dict[str, Multicast] = {
    "mst": mst,
    "close": partial(close_mst, candidates=NEAR),
    "balanced": lambda distances, server, listed: balanced_mst(
        distances, server, listed, np.arange(len(distances)) % 3 == 0, NEAR
    ),
}
EVERY = pytest.mark.parametrize("multicast", FUNCTIONS.values(), ids=FUNCTIONS)


@EVERY
@given(splits())
def test_the_routing_invariants_hold(multicast: Multicast, split: tuple[Distances, int, Servers]) -> None:
    distances, server, destinations = split
    branches = multicast(distances, server, destinations)
    listed = [number for branch in branches for number in branch.destinations.tolist()]
    assert sorted(listed) == sorted(destinations.tolist())
    assert all(hop in branch for hop, branch in branches)
    assert len({hop for hop, _ in branches}) == len(branches)


@EVERY
@given(splits())
def test_every_destination_and_no_other_server_gets_the_event_once(
    multicast: Multicast, split: tuple[Distances, int, Servers]
) -> None:
    distances, server, destinations = split
    hops = list(multicast_tree(distances, server, destinations, multicast))
    assert sorted(hop.receiver for hop in hops) == sorted(destinations.tolist())
    depth = {server: 0}
    for hop in hops:
        depth[hop.receiver] = depth[hop.sender] + 1
    assert sum(hop.destinations for hop in hops) == sum(depth.values())


@EVERY
@given(splits(), st.randoms(use_true_random=False))
def test_the_order_of_the_list_does_not_matter(
    multicast: Multicast, split: tuple[Distances, int, Servers], random: Random
) -> None:
    distances, server, destinations = split
    shuffled = destinations.tolist()
    random.shuffle(shuffled)
    assert as_sets(multicast(distances, server, servers(shuffled))) == as_sets(
        multicast(distances, server, destinations)
    )


@given(splits())
def test_mst_is_a_minimum_spanning_tree_and_every_server_on_the_way_agrees(
    split: tuple[Distances, int, Servers],
) -> None:
    distances, server, destinations = split
    edges = spanning_tree(distances.ranks, server, destinations)
    assert cost(distances, edges) == pytest.approx(
        nx.minimum_spanning_tree(graph(distances, [server, *destinations.tolist()])).size("weight")
    )
    hops = multicast_tree(distances, server, destinations, mst)
    assert {(hop.sender, hop.receiver) for hop in hops} == set(edges)


@given(splits())
def test_close_mst_is_as_the_paper_words_it(split: tuple[Distances, int, Servers]) -> None:
    distances, server, destinations = split
    rank = distances.ranks.__getitem__
    candidates = sorted(destinations.tolist(), key=lambda other: rank((server, other)))[:NEAR]
    hops = list(nx.minimum_spanning_tree(ranked(distances, [server, *candidates])).neighbors(server))
    expected: dict[int, set[int]] = {hop: {hop} for hop in hops}
    for other in set(destinations.tolist()) - set(hops):
        expected[min(hops, key=lambda hop: rank((hop, other)))].add(other)
    assert as_sets(close_mst(distances, server, destinations, NEAR)) == expected


@given(splits())
def test_close_mst_with_all_as_candidates_has_the_next_hops_of_mst(split: tuple[Distances, int, Servers]) -> None:
    distances, server, destinations = split
    assert hops_of(close_mst(distances, server, destinations, 20)) == hops_of(mst(distances, server, destinations))


@given(splits())
def test_balanced_mst_without_overload_is_close_mst(split: tuple[Distances, int, Servers]) -> None:
    distances, server, destinations = split
    for idle_or_not in (np.zeros(len(distances), bool), np.ones(len(distances), bool)):
        assert as_sets(balanced_mst(distances, server, destinations, idle_or_not, NEAR)) == as_sets(
            close_mst(distances, server, destinations, NEAR)
        )


@given(st.data(), splits())
def test_no_overloaded_server_is_a_next_hop_while_another_destination_is_not_overloaded(
    data: st.DataObject, split: tuple[Distances, int, Servers]
) -> None:
    distances, server, destinations = split
    overloaded = data.draw(overloads(len(distances)))
    hops = hops_of(balanced_mst(distances, server, destinations, overloaded, NEAR))
    assert overloaded[destinations].all() or not overloaded[sorted(hops)].any()


def test_a_candidate_that_is_no_next_hop_goes_to_the_nearest_one_and_not_to_its_parent_in_the_tree() -> None:
    """1 joins the tree at 0, 2 at 1, 4 at 2; 3 joins at 0 and is closer to 4 than 1 is, and so gets 4."""
    matrix = np.full((5, 5), 9.0)
    for a, b, distance in ((0, 1, 1), (1, 2, 1), (2, 4, 1), (0, 3, 2), (3, 4, 5), (1, 4, 6)):
        matrix[a, b] = matrix[b, a] = distance
    destinations = servers([1, 2, 3, 4])
    assert as_sets(mst(Distances(matrix), 0, destinations)) == {1: {1, 2, 4}, 3: {3}}
    assert as_sets(close_mst(Distances(matrix), 0, destinations)) == {1: {1, 2}, 3: {3, 4}}


BAD: dict[str, Callable[[], Distances]] = {
    "not square": lambda: Distances(np.zeros((2, 3))),
    "none": lambda: Distances(np.zeros((0, 0))),
    "negative": lambda: Distances(np.array([[0, -1], [3, 0.0]])),
    "unknown": lambda: Distances(np.array([[0, np.nan], [3, 0.0]])),
    "infinite": lambda: Distances(np.array([[0, np.inf], [3, 0.0]])),
}


@pytest.mark.parametrize("make", BAD.values(), ids=BAD)
def test_what_cannot_be_a_distance_is_refused(make: Callable[[], Distances]) -> None:
    with pytest.raises(ValueError, match="distance"):
        make()


def as_sets(branches: list[Branch]) -> dict[int, set[int]]:
    return {hop: set(branch.tolist()) for hop, branch in branches}


def hops_of(branches: list[Branch]) -> set[int]:
    return {hop for hop, _ in branches}


def cost(distances: Distances, edges: list[tuple[int, int]]) -> float:
    return float(sum(distances.values[edge] for edge in edges))


def graph(distances: Distances, members: list[int]) -> nx.Graph[int]:
    return _complete(members, lambda a, b: float(distances.values[a, b]))


def ranked(distances: Distances, members: list[int]) -> nx.Graph[int]:
    return _complete(members, lambda a, b: int(distances.ranks[a, b]))


def _complete(members: list[int], weight: Callable[[int, int], float]) -> nx.Graph[int]:
    made: nx.Graph[int] = nx.Graph()
    made.add_weighted_edges_from((a, b, weight(a, b)) for a in members for b in members if a < b)
    return made
