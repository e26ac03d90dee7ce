"""Minimum spanning trees of few and of many nodes are Prim's, ties and unreachable nodes included."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from broker_service.routing.common.spanning_tree import spanning_tree


def prim(weights: NDArray[Any], root: int, others: list[int]) -> list[tuple[int, int]]:
    """Edges in the order in which nodes join; of equals, the first that waits and the first that joined."""
    joined, waiting, edges = [root], list(others), []
    while waiting:
        child = min(waiting, key=lambda node: min(weights[parent, node] for parent in joined))
        edges.append((min(joined, key=lambda parent: weights[parent, child]), child))
        joined.append(child)
        waiting.remove(child)
    return edges


@pytest.mark.parametrize("most", [12, 90])
@given(data=st.data())
def test_it_is_prims(most: int, data: st.DataObject) -> None:
    count = data.draw(st.integers(max(1, most - 11), most))
    draws = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    weights = draws.choice([1.0, 2.0, 3.0, 4.0, np.inf], size=(count + 3, count + 3))
    weights = np.maximum(weights, weights.T)
    others = np.sort(draws.choice(np.arange(1, count + 3), count, replace=False))
    assert spanning_tree(weights, 0, others) == prim(weights, 0, others.tolist())
