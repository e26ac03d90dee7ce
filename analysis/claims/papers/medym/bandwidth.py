"""Bandwidth of servers over the matching ratio and the number of servers (MEDYM, figures 9 and 11)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from analysis.claims.measured_run import MeasuredRun
from analysis.claims.model import Recipe
from analysis.claims.papers.medym.node_stress import mean_stress, stress_of
from analysis.claims.papers.medym.traffic import Traffic, traffic_of
from analysis.claims.papers.medym.variants import (
    BALANCED,
    CBF,
    CHANNELIZATION,
    CLOSE,
    MST,
    SCHEMES,
    by_point,
    matching_ratio,
)
from analysis.claims.verdict import Measurement

CROSSINGS = ((MST, CBF), (MST, CHANNELIZATION), (CLOSE, CBF))
_FLAT = 1.0
"""Largest growth of the mean path of MEDYM over all sizes that counts as flat, in links."""


def crossings(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """The matching ratio above which MEDYM needs more bandwidth than a rival, for each of `CROSSINGS` (figure 9)."""
    found, points = traffic_of(run), by_point(run, (MST, CLOSE, CBF, CHANNELIZATION))
    ratios = [matching_ratio(point) for point in points]

    def stress(scheme: str) -> list[float]:
        return [mean_stress(found[schemes[scheme].name]) or 0.0 for schemes in points.values()]

    return Measurement(values=tuple(crossing(ratios, stress(own), stress(rival)) for own, rival in CROSSINGS))


def crossing(ratios: Sequence[float], own: Sequence[float], rivals: Sequence[float]) -> float | None:
    """The last ratio at which a system needs as much as its rival and begins to need more, by linear interpolation.

    None where it does not need more at the largest ratio; the smallest ratio where it always needs more.
    """
    above = [mine - other for mine, other in zip(own, rivals, strict=True)]
    if above[-1] <= 0:
        return None
    for index in range(len(above) - 1, 0, -1):
        if above[index - 1] <= 0:
            share = -above[index - 1] / (above[index] - above[index - 1])
            return ratios[index - 1] + share * (ratios[index] - ratios[index - 1])
    return ratios[0]


def exponents(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Exponents of power laws over the number of servers: of CBF's mean node stress, and of the most loaded server's
    under BalancedMST (figure 11)."""
    found, points = traffic_of(run), by_point(run, (CBF, BALANCED))
    sizes = [len(schemes[CBF].overlay.brokers) for schemes in points.values()]
    means = [mean_stress(found[schemes[CBF].name]) for schemes in points.values()]
    largest = [largest_stress(found[schemes[BALANCED].name]) for schemes in points.values()]
    return Measurement(values=(exponent(sizes, means), exponent(sizes, largest)))


def path_growth(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Growth of the mean path from the smallest network to the largest (figure 11).

    In links: `_FLAT` minus the growth under MEDYM, for each routing function; the growth under CBF minus the largest of
    these.
    """
    found, points = traffic_of(run), list(by_point(run, SCHEMES).values())
    smallest, largest = points[0], points[-1]
    grown = {
        scheme: mean_links(found[largest[scheme].name]) - mean_links(found[smallest[scheme].name]) for scheme in SCHEMES
    }
    own = [grown[scheme] for scheme in (MST, CLOSE, BALANCED)]
    return Measurement(values=(*(_FLAT - growth for growth in own), grown[CBF] - max(own)))


def exponent(sizes: Sequence[int], values: Sequence[float | None]) -> float | None:
    """The exponent of the power law that fits best, by least squares of logarithms; None where a value is missing."""
    if len(sizes) < 2 or not all(values):
        return None
    return float(np.polyfit(np.log(sizes), np.log(np.array(values, np.float64)), 1)[0])


def largest_stress(traffic: Traffic) -> float | None:
    """Node stress of the most loaded server in bits; None without an event."""
    return float(stress_of(traffic).max()) if traffic.events else None


def mean_links(traffic: Traffic) -> float:
    """Mean number of links that a notification has travelled; 0 without one."""
    hops = traffic.notified.hops
    travelled = hops[hops > 0]
    return float(travelled.mean()) if len(travelled) else 0.0
