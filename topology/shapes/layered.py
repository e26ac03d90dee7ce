"""Random overlays of a given length with a hub in the middle."""

from __future__ import annotations

import random
from itertools import chain, combinations, pairwise, product

import networkx as nx

from topology.link_properties import BrokerId, OverlayError
from topology.shapes.naming import at_least, numbered

Layers = list[list[int]]
"""The brokers of each layer, from one end of the overlay to the other."""


def layered(brokers: int, layers: int, degree: float, hub: int, rng: random.Random) -> nx.Graph[BrokerId]:
    """A random connected overlay of round(brokers * degree / 2) links whose ends are `layers` - 1 links apart.

    Brokers are in layers. A link joins two brokers of one layer or of two neighbouring ones, so that no path from the
    first layer to the last is shorter. The first broker of the middle layer, the hub, has `hub` neighbours: all others
    of its layer and of the layers beside it. The other layers share the rest of the brokers equally; a larger share
    goes to those nearer to the hub.

    Every broker has a link towards the hub. Further links are drawn so that the lowest degrees grow first, except that
    the hub gets none.
    """
    links = round(at_least(brokers, 2, "a layered overlay") * degree / 2)
    by_layer = _by_layer(brokers, at_least(layers, 3, "a layered overlay", "layer"), hub)
    middle = by_layer[layers // 2][0]
    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(range(brokers))
    near = set(chain(*by_layer[layers // 2 - 1 : layers // 2 + 2])) - {middle}
    graph.add_edges_from((middle, broker) for broker in near)
    for nearer, farther in _away_from_the_middle(by_layer):
        graph.add_edges_from((broker, rng.choice(nearer)) for broker in farther if broker not in near)
    allowed = [
        pair
        for pair in chain(
            *(combinations(layer, 2) for layer in by_layer), *(product(a, b) for a, b in pairwise(by_layer))
        )
        if middle not in pair and not graph.has_edge(*pair)
    ]
    least, most = graph.number_of_edges(), graph.number_of_edges() + len(allowed)
    if not least <= links <= most:
        raise OverlayError(
            f"{brokers} brokers in {layers} layers with a hub of {hub} neighbours cannot have a mean degree of "
            f"{degree:g}: from {2 * least / brokers:.3g} to {2 * most / brokers:.3g} is possible"
        )
    rng.shuffle(allowed)
    for _ in range(links - least):
        pair = min(allowed, key=lambda ends: (min(map(graph.degree, ends)), max(map(graph.degree, ends))))
        allowed.remove(pair)
        graph.add_edge(*pair)
    return numbered(graph)


def _by_layer(brokers: int, layers: int, hub: int) -> Layers:
    """Consecutive brokers in each layer: hub + 1 in the three middle layers, the rest in the others."""
    middle, others = layers // 2, layers - 3
    rest = brokers - hub - 1
    if hub < 2 or rest < others or (not others and rest):
        raise OverlayError(
            f"{brokers} brokers cannot be in {layers} layers around a hub of {hub} neighbours: three layers hold the "
            f"hub and its {hub} neighbours, and the other {others} need a broker each"
        )
    nearest_first = sorted((n for n in range(layers) if abs(n - middle) > 1), key=lambda n: (abs(n - middle), n))
    sizes = dict(zip((middle, middle - 1, middle + 1), _shares(hub + 1, 3), strict=True))
    sizes.update(zip(nearest_first, _shares(rest, others), strict=True))
    ends = [0]
    for number in range(layers):
        ends.append(ends[-1] + sizes[number])
    return [list(range(begin, end)) for begin, end in pairwise(ends)]


def _shares(total: int, parts: int) -> list[int]:
    """Equal shares of a total, the larger ones first."""
    return [total // parts + (part < total % parts) for part in range(parts)]


def _away_from_the_middle(by_layer: Layers) -> list[tuple[list[int], list[int]]]:
    """Pairs of neighbouring layers, the nearer one to the middle first."""
    middle = len(by_layer) // 2
    return [*pairwise(by_layer[middle:]), *pairwise(by_layer[middle::-1])]
