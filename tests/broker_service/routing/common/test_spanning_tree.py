"""Minimum spanning trees, edge by edge against the definition of Prim's algorithm."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from broker_service.routing.common.spanning_tree import spanning_tree

Weights = NDArray[np.float64]


def grown(weights: Weights, root: int, others: list[int]) -> list[tuple[int, int]]:
    """Each time the shortest edge between the tree and a node outside; of equal ones, the first node's, and of that
    node's the one from the node that joined first."""
    joined, waiting, edges = [root], list(others), []
    while waiting:
        child, parent = min(product(waiting, joined), key=lambda edge: weights[edge])
        edges.append((parent, child))
        joined.append(child)
        waiting.remove(child)
    return edges


def tied_weights(count: int, seed: int) -> Weights:
    """Symmetric weights of few values, some of them infinite."""
    upper = np.triu(np.random.default_rng(seed).choice([1.0, 2.0, 3.0, math.inf], (count, count)), 1)
    return upper + upper.T


@given(st.integers(2, 12), st.integers(0, 2**32), st.data())
def test_small_trees_are_prims_where_weights_are_equal(count: int, seed: int, data: st.DataObject) -> None:
    root, *others = data.draw(st.lists(st.integers(0, count - 1), min_size=1, unique=True))
    weights = tied_weights(count, seed)
    assert spanning_tree(weights, root, np.array(others, np.uint16)) == grown(weights, root, others)


@pytest.mark.parametrize("count", [75, 76, 77, 95])
def test_large_trees_are_prims_where_weights_are_equal(count: int) -> None:
    order = np.random.default_rng(count).permutation(count)
    root, others = int(order[0]), order[1:]
    weights = tied_weights(count, count)
    assert spanning_tree(weights, root, others) == grown(weights, root, others.tolist())
