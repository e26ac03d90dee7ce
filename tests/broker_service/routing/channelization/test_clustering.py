"""Clustering: waste by its definition, no single move that lowers it, and MEDYM's Fig. 3."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from broker_service.routing.channelization.clustering import cluster, waste

FIGURE_3 = {"A": {1, 5}, "B": {7, 8}, "C": {1, 2}, "D": {0, 6}, "E": {2, 3, 5}, "F": {5, 7}, "G": {4, 6}, "H": {2, 9}}
"""Event values that each server wants."""
PUBLISHED = ({5, 8}, {0, 1, 4, 6}, {2, 3, 7, 9})
"""The channels of Fig. 3."""
Cells = tuple[NDArray[np.bool_], NDArray[np.float64]]


@st.composite
def cells(draw: st.DrawFn) -> Cells:
    """Servers that want each cell, and the cells' weights, of which one at least is not 0."""
    count, servers = draw(st.integers(1, 12)), draw(st.integers(1, 6))
    bits = draw(st.lists(st.booleans(), min_size=count * servers, max_size=count * servers))
    weights = draw(st.lists(st.integers(0, 3), min_size=count, max_size=count).filter(any))
    return np.array(bits).reshape(count, servers), np.array(weights, float)


@given(cells(), st.integers(1, 5), st.integers(0, 9))
def test_waste_is_the_expected_number_of_servers_in_vain(drawn: Cells, count: int, seed: int) -> None:
    wanted, weights = drawn
    found = cluster(wanted, weights, count, np.random.default_rng(seed))
    naive = 0.0
    for cell, channel in enumerate(found.channels):
        served = {server for row in wanted[found.channels == channel] for server in np.flatnonzero(row)}
        naive += weights[cell] * len(served - set(np.flatnonzero(wanted[cell])))
    assert found.waste == pytest.approx(naive / weights.sum())
    assert found.waste == waste(wanted, weights, found.channels)
    assert found.channels.max() < count


@given(cells(), st.integers(1, 5), st.integers(0, 9))
def test_no_move_of_a_single_cell_lowers_the_waste(drawn: Cells, count: int, seed: int) -> None:
    wanted, weights = drawn
    found = cluster(wanted, weights, count, np.random.default_rng(seed))
    for cell in range(len(wanted)):
        for channel in range(min(count, len(wanted))):
            moved = found.channels.copy()
            moved[cell] = channel
            assert waste(wanted, weights, moved) >= found.waste - 1e-9


def test_the_channels_are_no_worse_than_those_of_figure_3() -> None:
    wanted = np.array([[value in wants for wants in FIGURE_3.values()] for value in range(10)])
    published = np.array([next(n for n, channel in enumerate(PUBLISHED) if value in channel) for value in range(10)])
    best = min(cluster(wanted, np.ones(10), 3, np.random.default_rng(seed)).waste for seed in range(5))
    assert best <= waste(wanted, np.ones(10), published)


def test_the_same_seed_gives_the_same_channels() -> None:
    wanted = np.random.default_rng(7).random((60, 9)) < 0.2
    first, again = (cluster(wanted, np.ones(60), 5, np.random.default_rng(3)) for _ in range(2))
    assert np.array_equal(first.channels, again.channels)
