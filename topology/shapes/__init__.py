"""The shapes of overlays, as graphs whose nodes are broker ids and carry the brokers' overlay attributes.

Brokers are named B1, B2, ... except in products and redundant trees, where a broker is named after its coordinates.
Every random choice comes from the generator passed in. Impossible sizes raise `OverlayError`.
"""

from topology.shapes.layered import layered
from topology.shapes.random_graphs import cyclic, random_regular
from topology.shapes.regular import explicit, full, grid, line, ring, star
from topology.shapes.structured import lettered, redundant_tree, scot
from topology.shapes.trees import random_tree, tree

__all__ = [
    "cyclic",
    "explicit",
    "full",
    "grid",
    "layered",
    "lettered",
    "line",
    "random_regular",
    "random_tree",
    "redundant_tree",
    "ring",
    "scot",
    "star",
    "tree",
]
