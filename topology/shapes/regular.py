"""Shapes without randomness: line, ring, star, full mesh, grid, and overlays listed link by link."""

from __future__ import annotations

from collections.abc import Sequence

import networkx as nx

from topology.link_properties import BrokerId, OverlayError
from topology.shapes.naming import at_least, numbered


def line(brokers: int) -> nx.Graph[BrokerId]:
    """B1 - B2 - ... - Bn."""
    return numbered(nx.path_graph(at_least(brokers, 1, "a line")))


def ring(brokers: int) -> nx.Graph[BrokerId]:
    """A line whose ends are linked; its diameter is half its size."""
    return numbered(nx.cycle_graph(at_least(brokers, 3, "a ring")))


def star(brokers: int) -> nx.Graph[BrokerId]:
    """B1 in the middle, linked to all others."""
    return numbered(nx.star_graph(at_least(brokers, 1, "a star") - 1))


def full(brokers: int) -> nx.Graph[BrokerId]:
    """A link between every two brokers."""
    return numbered(nx.complete_graph(at_least(brokers, 1, "a full mesh")))


def grid(rows: int, columns: int) -> nx.Graph[BrokerId]:
    """Brokers in rows and columns, each linked to the next in its row and in its column.

    They are numbered row by row from the top left; a broker's attributes are its `row` and `column`, from 0, and its
    `position`. The diameter is rows + columns - 2.
    """
    at_least(rows, 1, "a grid", "row")
    at_least(columns, 1, "a grid", "column")
    numbers: nx.Graph[int] = nx.Graph()
    numbers.add_nodes_from(range(rows * columns))
    for broker in numbers:
        if (broker + 1) % columns:
            numbers.add_edge(broker, broker + 1)
        if broker + columns < rows * columns:
            numbers.add_edge(broker, broker + columns)
    graph = numbered(numbers)
    for index, attributes in enumerate(graph.nodes.values()):
        row, column = divmod(index, columns)
        attributes.update(row=row, column=column, position=(column, -row))
    return graph


def explicit(links: Sequence[tuple[BrokerId, BrokerId]], brokers: Sequence[BrokerId] = ()) -> nx.Graph[BrokerId]:
    """An overlay link by link; `brokers` names a single broker without links, or sets their order."""
    graph: nx.Graph[BrokerId] = nx.Graph()
    graph.add_nodes_from(brokers)
    for a, b in links:
        if graph.has_edge(a, b):
            raise OverlayError(f"link {a} - {b} is listed twice")
        graph.add_edge(a, b)
    return graph
