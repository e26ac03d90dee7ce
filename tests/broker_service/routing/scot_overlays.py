"""OctopiA on overlays of broker cores: the paper's own SCOTs, by the names the paper gives their brokers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Any

from broker_service.config import Limits
from tests.broker_service.overlay import CoreOverlay

FIGURE_3_TREE = ("ab", "bc", "cd", "de", "ef")
"""G_af of Figs. 2 to 8. The text says that a is an edge broker, e an inner one and d - e a link."""
FIGURE_7_TREE = ("ab", "bc")


def scot(
    tree: Iterable[str],
    clusters: int,
    options: Mapping[str, Any] | None = None,
    seed: int = 0,
    limits: Limits | None = None,
) -> CoreOverlay:
    """The product of a tree, given by its links, and a complete graph. B(a, 0) is called `a0`."""
    tree = tuple(tree)
    regions = sorted({region for link in tree for region in link}) or ["a"]
    links = [(f"{a}{cluster}", f"{b}{cluster}") for a, b in tree for cluster in range(clusters)]
    links += [(f"{region}{i}", f"{region}{j}") for region in regions for i, j in combinations(range(clusters), 2)]
    attributes = {
        f"{region}{cluster}": {"region": region, "cluster": cluster}
        for region in regions
        for cluster in range(clusters)
    }
    return CoreOverlay(links, attributes, options, seed, limits, "octopia", attributes)
