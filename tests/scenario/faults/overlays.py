"""Small overlays to break."""

from __future__ import annotations

import random
from typing import Any

import networkx as nx

from topology.link_properties import BrokerId, Link, LinkProperties
from topology.model import Broker, Overlay


def overlay_of(*links: tuple[BrokerId, BrokerId], **properties: Any) -> Overlay:
    """Links with these properties in both directions; brokers in the order in which links name them."""
    same = LinkProperties(**properties)
    brokers = dict.fromkeys(end for ends in links for end in ends)
    return Overlay("test", tuple(map(Broker, brokers)), tuple(Link(a, b, same, same) for a, b in links))


def random_overlay(seed: int, brokers: int) -> Overlay:
    """A random tree with a few links more."""
    generator = random.Random(seed)
    links = [(f"B{generator.randint(1, new - 1)}", f"B{new}") for new in range(2, brokers + 1)]
    for _ in range(brokers // 4):
        a, b = generator.sample(range(1, brokers + 1), 2)
        if (f"B{a}", f"B{b}") not in links and (f"B{b}", f"B{a}") not in links:
            links.append((f"B{a}", f"B{b}"))
    return overlay_of(*links, delay=0.001)


def without(overlay: Overlay, broker: BrokerId) -> nx.Graph[BrokerId]:
    graph = overlay.to_networkx()
    graph.remove_node(broker)
    return graph


DUMBBELL = overlay_of(
    ("A1", "A2"), ("A2", "A3"), ("A3", "A1"),
    ("A1", "M"), ("M", "Z1"),
    ("Z1", "Z2"), ("Z2", "Z3"), ("Z3", "Z1"),
    delay=0.002,
)  # fmt: skip
"""Two triangles, joined through M by two bridges: A1, M and Z1 are cut vertices."""
