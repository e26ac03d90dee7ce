"""Small overlays of a given shape, with links of 1 to 400 ms, jitter and loss."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from random import Random
from typing import Any

from studies.exploration.draws import magnitude, whole_magnitude
from studies.exploration.surroundings import Shape
from topology.model import Overlay

SHORTEST_LINK, LONGEST_LINK = 1.0, 400.0
"""Milliseconds, one way."""
_MOST_BROKERS = {Shape.TREE: 7, Shape.CYCLIC: 7, Shape.FULL: 5}
_LOSSY = 0.15
"""Share of the overlays that lose frames, which the links' transport sends again."""
_UNSTEADY = 0.5
"""Share of the overlays with jitter."""

Pair = tuple[str, str]


def drawn_topology(shape: Shape, random: Random) -> Mapping[str, Any]:
    """The section `topology` of a scenario."""
    match shape:
        case Shape.SCOT:
            regions, clusters = random.choice(((1, 3), (2, 2), (3, 2), (2, 3)))
            return {"kind": "scot", "regions": regions, "clusters": clusters, "link": _link_ranges(random)}
        case Shape.REDUNDANT_TREE:
            nodes = random.randint(2, 4)
            replicas = random.randint(1, 2) if nodes > 3 else random.randint(1, 3)
            return {
                "kind": "redundant-tree",
                "tree": random.choice(("line", "star", "random-tree")),
                "nodes": nodes,
                "replicas": replicas,
                "link": _link_ranges(random),
            }
    brokers = [f"B{number}" for number in range(1, random.randint(2, _MOST_BROKERS[shape]) + 1)]
    pairs = list(combinations(brokers, 2)) if shape is Shape.FULL else _connected(brokers, shape, random)
    worst = magnitude(random, SHORTEST_LINK, LONGEST_LINK)
    unsteady, lossy = random.random() < _UNSTEADY, random.random() < _LOSSY
    links = []
    for pair in pairs:
        link: dict[str, Any] = {"between": list(pair), "delay": f"{magnitude(random, SHORTEST_LINK, worst):.3g}ms"}
        if unsteady:
            link["jitter"] = f"{random.choice((2, 10, 40))}%"
        if lossy:
            link["loss"] = f"{random.choice((1, 2, 5))}%"
        links.append(link)
    return {"kind": "explicit", "links": links}


def slowest_link(overlay: Overlay) -> float:
    """The longest delay of a link, one way, in seconds."""
    ends = ((link, end) for link in overlay.links for end in (link.a, link.b))
    return max((link.properties_from(end).delay for link, end in ends), default=0.0)


def _connected(brokers: list[str], shape: Shape, random: Random) -> list[Pair]:
    """A random tree of brokers; in a cyclic overlay, further links."""
    pairs = [(brokers[random.randrange(number)], brokers[number]) for number in range(1, len(brokers))]
    if shape is Shape.CYCLIC:
        others = [pair for pair in combinations(brokers, 2) if pair not in pairs]
        pairs += random.sample(others, min(len(others), whole_magnitude(random, 1, len(brokers))))
    return pairs


def _link_ranges(random: Random) -> Mapping[str, str]:
    """The properties of all links, from which the seed of the run draws those of each."""
    low = magnitude(random, SHORTEST_LINK, LONGEST_LINK)
    high = magnitude(random, low, LONGEST_LINK) if low < LONGEST_LINK else low
    drawn = {"delay": f"{low:.3g}ms" if random.random() < 0.5 else f"{low:.3f}ms..{high:.3f}ms"}
    if random.random() < _UNSTEADY:
        drawn["jitter"] = f"{random.choice((2, 10, 40))}%"
    if random.random() < _LOSSY:
        drawn["loss"] = f"{random.choice((1, 2, 5))}%"
    return drawn
