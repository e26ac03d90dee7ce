"""Coordinates to draw brokers at."""

from __future__ import annotations

import math
import random
from itertools import combinations

import networkx as nx
import pytest

from topology import Broker, LinkTemplates, Overlay, build, layout, shapes


@pytest.mark.parametrize(
    "graph", [shapes.line(1), shapes.line(2), shapes.ring(12), shapes.cyclic(30, 4, random.Random(1)), shapes.tree(30)]
)
def test_in_the_unit_square_apart_and_repeatable(graph: nx.Graph[str]) -> None:
    overlay = build("o", graph, LinkTemplates(), 1)
    positions = layout(overlay)
    assert layout(overlay) == positions
    assert list(positions) == [broker.id for broker in overlay.brokers]
    assert all(0 <= coordinate <= 1 for position in positions.values() for coordinate in position)
    assert all(math.dist(a, b) > 0.02 for a, b in combinations(positions.values(), 2))


def test_linked_brokers_are_nearer_than_others() -> None:
    overlay = build("o", shapes.ring(12), LinkTemplates(), 1)
    positions = layout(overlay)
    linked = [math.dist(positions[link.a], positions[link.b]) for link in overlay.links]
    others = [math.dist(positions["B1"], positions[f"B{number}"]) for number in range(4, 11)]
    assert max(linked) < min(others)


def test_a_scot_is_drawn_as_its_grid() -> None:
    overlay = build("o", shapes.scot(shapes.lettered(shapes.line(3)), 2), LinkTemplates(), 1)
    assert layout(overlay) == {
        "A0": (0, 0), "A1": (0, 1), "B0": (0.5, 0), "B1": (0.5, 1), "C0": (1, 0), "C1": (1, 1)
    }  # fmt: skip


def test_given_positions_are_kept_and_fitted() -> None:
    line = build("o", shapes.line(2), LinkTemplates(), 1)
    brokers = (Broker("B1", {"position": (10.0, 0.0)}), Broker("B2", {"position": (20.0, 5.0)}))
    assert layout(Overlay("o", brokers, line.links)) == {"B1": (0, 0), "B2": (1, 1)}
