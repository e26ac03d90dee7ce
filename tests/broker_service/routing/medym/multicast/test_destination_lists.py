"""Destination lists: what is encoded is decoded again, and nothing else is."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_service.routing.interface import MalformedMessageError
from broker_service.routing.medym.multicast.destination_lists import (
    Tree,
    as_rerouted,
    decode,
    destinations,
    encode_list,
    encode_tree,
    is_rerouted,
    tree_of,
)

SERVERS = 300
"""More than a byte counts."""
NUMBERS = st.lists(st.integers(0, SERVERS - 1), min_size=1, max_size=20, unique=True)


@st.composite
def trees(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]]]:
    """A root, and edges from parents to children."""
    root, *others = draw(NUMBERS)
    return root, [(draw(st.sampled_from([root, *others[:place]])), child) for place, child in enumerate(others)]


@given(NUMBERS, st.data())
def test_a_list_comes_back(numbers: list[int], data: st.DataObject) -> None:
    listed = np.array(sorted(numbers), np.uint16)
    header = encode_list(listed)
    receiver = data.draw(st.sampled_from(numbers))
    others = decode(header, receiver, SERVERS)
    assert isinstance(others, np.ndarray)
    assert others.tolist() == sorted({*numbers} - {receiver})
    assert destinations(header).tolist() == sorted(numbers)
    assert len(header) == 1 + 2 * len(numbers)


@given(trees())
def test_a_tree_comes_back_with_all_branches(drawn: tuple[int, list[tuple[int, int]]]) -> None:
    root, edges = drawn
    header = encode_tree(tree_of(edges, root))
    decoded = decode(header, root, SERVERS)
    assert isinstance(decoded, Tree)
    assert sorted(edges_of(decoded)) == sorted(edges)
    assert destinations(header).tolist() == sorted({root, *(child for _, child in edges)})
    assert len(header) == 1 + 2 * len(decoded.servers) + -(-len(decoded.servers) // 4)


@given(trees())
def test_branches_are_the_subtrees_of_the_children(drawn: tuple[int, list[tuple[int, int]]]) -> None:
    root, edges = drawn
    graph = nx.DiGraph(edges)
    for branch in tree_of(edges, root).branches():
        assert graph.has_edge(root, branch.root)
        assert set(branch.servers.tolist()) == {branch.root, *nx.descendants(graph, branch.root)}


def edges_of(tree: Tree) -> list[tuple[int, int]]:
    return [edge for branch in tree.branches() for edge in ((tree.root, branch.root), *edges_of(branch))]


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        (b"", "no destination list"),
        (b"\4\1\0", "no destination list"),
        (b"\0\1\0\2", "3 bytes"),
        (b"\0\2\0\1\0", "ascending"),
        (b"\0\1\0\1\0", "ascending"),
        (b"\0\2\0", "another server"),
        (b"\0", "another server"),
        (b"\0\1\0\x2c\1", "server 300"),
        (b"\1", "no tree|another server|0 bytes"),
        (b"\1\1\0", "2 bytes"),
        (b"\1\1\0\x40", "no tree"),
        (b"\1\1\0\xc0", "no tree"),
        (b"\1\1\0\x81", "no tree"),
        (b"\1\1\0\2\0\xa0", "no tree"),
        (b"\1\1\0\1\0\xc0", "twice"),
        (b"\1\2\0\1\0\xc0", "another server"),
        (b"\1\1\0\x2c\1\xc0", "server 300"),
    ],
)
def test_other_headers_are_malformed(header: bytes, reason: str) -> None:
    """For server 1 of 300."""
    with pytest.raises(MalformedMessageError, match=reason):
        decode(header, 1, SERVERS)


@given(st.binary(max_size=30), st.integers(0, 5))
def test_any_bytes_are_a_list_a_tree_or_malformed(header: bytes, receiver: int) -> None:
    """Bytes that can be decoded are encoded to the same bytes again."""
    try:
        decoded = decode(header, receiver, SERVERS)
    except MalformedMessageError:
        return
    if isinstance(decoded, Tree):
        again = encode_tree(decoded)
    else:
        again = encode_list(np.sort(np.append(decoded, np.uint16(receiver))))
    assert (as_rerouted(again) if is_rerouted(header) else again) == header
