"""Helpers of all shapes: the names of brokers, and the refusal of impossible sizes."""

from __future__ import annotations

import networkx as nx

from record.wording import count_of
from topology.link_properties import BrokerId, OverlayError


def numbered(graph: nx.Graph[int]) -> nx.Graph[BrokerId]:
    """Nodes 0, 1, ... become B1, B2, ..., in this order."""
    named: nx.Graph[BrokerId] = nx.Graph()
    named.add_nodes_from(f"B{node + 1}" for node in sorted(graph))
    named.add_edges_from((f"B{a + 1}", f"B{b + 1}") for a, b in sorted((min(e), max(e)) for e in graph.edges))
    return named


def at_least(value: int, least: int, what: str, unit: str = "broker") -> int:
    """The value, unless it is too small. Raises `OverlayError`."""
    if value < least:
        raise OverlayError(f"{what} needs at least {count_of(least, unit)}, not {value}")
    return value
