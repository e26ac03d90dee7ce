"""Measures of the routes of events (section 4, "Route Characteristics", figure 6, and the text on figure 3).

A *route* is the way of a copy until it ends at a dispatcher that has had the event (footnote 4).
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping

from analysis.claims.measured_run import MeasuredRun, MeasuredVariant
from analysis.claims.model import Recipe
from analysis.claims.papers.semi_probabilistic.variants import HORIZONS, copies, difference, excess, least, named
from analysis.claims.verdict import Measurement
from topology.link_properties import BrokerId
from topology.model import Overlay

SMALL, TABLE_1, LARGE = "n-50", "n-300", "n-400"
"""Sizes of overlays: the smallest, that of table 1, at which the text discusses figure 3, and the largest."""
FLOODING = "flooding"


def routes(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Margins of figure 6: routes of the horizons 2 and 3 are shorter than those of 0 and 1, for the larger overlay;
    flooding has the shortest; deterministic hops rise with the size for 2 and 3; they fall for 1."""
    hops = [named(run, LARGE, horizon).mean_route for horizon in HORIZONS]
    flooding = named(run, LARGE, FLOODING).mean_route
    grown = [
        difference(deterministic(named(run, LARGE, horizon)), deterministic(named(run, SMALL, horizon)))
        for horizon in HORIZONS
    ]
    return Measurement(
        values=(
            least([_shorter(long, than) for long in hops[2:] for than in hops[:2]]),
            least([_shorter(flooding, than) for than in hops]),
            least(grown[2:]),
            None if grown[1] is None else -grown[1],
        )
    )


def delivery_by_size(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Margins of the text on figure 3: the smaller overlay has the higher delivery, by horizon."""
    return Measurement(
        values=tuple(
            excess(named(run, SMALL, horizon).delivery_ratio, named(run, LARGE, horizon).delivery_ratio)
            for horizon in HORIZONS
        )
    )


def fewer_than_shortest_routes(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Footnote 3, margin of: horizon 2 takes fewer copies than the shortest routes to all receivers.

    The receivers of an event are those of flooding. Shortest routes that share links count these once, which is less
    than the sum of their lengths, so the margin is the smaller one of two possible readings.
    """
    shortest = _shortest_routes(named(run, TABLE_1, FLOODING))
    taken = copies(named(run, TABLE_1, "phi-2"))
    return Measurement(values=(None if taken is None or not shortest else 1 - taken / shortest,))


def deterministic(variant: MeasuredVariant) -> float | None:
    """Share of the hops that led to a known subscriber."""
    hops = sum(row.first + row.repeated for row in variant.routes)
    known = sum(row.received for row in variant.labels if row.label == "deterministic")
    return known / hops if hops else None


def _shorter(route: float | None, than: float | None) -> float | None:
    found = excess(route, than)
    return None if found is None else -found


def _shortest_routes(flooding: MeasuredVariant) -> float:
    """Mean number of links on the shortest routes from an event's publisher to its receivers, each counted once."""
    receivers: dict[tuple[str, BrokerId], set[BrokerId]] = defaultdict(set)
    for row in flooding.notifications:
        if row.path:
            receivers[row.publication, row.path[0]].add(row.path[-1])
    parents = {publisher: _parents(flooding.overlay, publisher) for _, publisher in receivers}
    links = sum(len(_ways(parents[publisher], reached)) for (_, publisher), reached in receivers.items())
    return links / flooding.published if flooding.published else 0.0


def _parents(overlay: Overlay, root: BrokerId) -> Mapping[BrokerId, BrokerId]:
    """The broker before each other one on a shortest route from the root."""
    neighbours: dict[BrokerId, list[BrokerId]] = defaultdict(list)
    for link in overlay.links:
        neighbours[link.a].append(link.b)
        neighbours[link.b].append(link.a)
    found: dict[BrokerId, BrokerId] = {root: root}
    waiting = deque([root])
    while waiting:
        broker = waiting.popleft()
        for neighbour in neighbours[broker]:
            if neighbour not in found:
                found[neighbour] = broker
                waiting.append(neighbour)
    del found[root]
    return found


def _ways(parents: Mapping[BrokerId, BrokerId], receivers: set[BrokerId]) -> set[BrokerId]:
    """The brokers at the far ends of all links on the routes to these receivers."""
    ways: set[BrokerId] = set()
    for receiver in receivers:
        broker = receiver
        while broker in parents and broker not in ways:
            ways.add(broker)
            broker = parents[broker]
    return ways
