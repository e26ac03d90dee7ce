"""Claims about the load of the network (MEDYM, section 5.2.2): figure 7, and the links of Table 2."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean

import numpy as np

from analysis.claims.measured_run import MeasuredRun
from analysis.claims.model import ClaimsError, Recipe
from analysis.claims.papers.medym.network_usage import (
    networks,
    normalized_usage,
    stress_of,
    unicast_usage_of,
    usage_of,
)
from analysis.claims.papers.medym.traffic import traffic_of
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
from analysis.judging.journeys.network import Network
from broker_service.routing.common.distances import Distances
from broker_service.routing.common.spanning_tree import spanning_tree

BROADCAST, UNICAST = "broadcast", "unicast"
UNIFORM, ZIPF, MULTIMODAL, REGIONAL = DISTRIBUTIONS = ("uniform", "zipf", "multimodal", "regional")

Usages = Mapping[str, float]
"""NRU by scheme, `BROADCAST` and `UNICAST` included."""


def normalized_usages(run: MeasuredRun) -> Mapping[str, Usages]:
    """NRU of every scheme at each point of a run; points without a delivery are left out."""
    found, under = traffic_of(run), networks(run.variants)
    usages: dict[str, Usages] = {}
    trees: dict[int, float] = {}
    for point, schemes in by_point(run, SCHEMES).items():
        measured: dict[str, float | None] = {}
        for scheme in SCHEMES:
            variant = schemes[scheme]
            traffic, network = found[variant.name], under[variant.name]
            wanted = traffic.destinations
            usage = {scheme: usage_of(traffic, network)}
            if scheme == CBF:
                tree = trees.setdefault(id(network), _broadcast_usage(network))
                usage[BROADCAST] = np.full(len(traffic.events), tree)
                usage[UNICAST] = unicast_usage_of(traffic, network, wanted)
            for name, usages_of_events in usage.items():
                measured[name] = normalized_usage(usages_of_events, traffic, network, wanted)
        given = {scheme: value for scheme, value in measured.items() if value is not None}
        if len(given) == len(measured):
            usages[point] = given
    return usages


def normalized_resource_usage(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Margins of the statements about figure 7: see `usage_margins`."""
    return Measurement(values=usage_margins(run.once(normalized_usages)))


def usage_margins(usages: Mapping[str, Usages]) -> tuple[float, ...]:
    """Margins of the statements about figure 7, in the order of the claim's parts.

    Points are `<distribution>+<matching ratio>`. The middle ratio decides about channelization, because all schemes
    converge to broadcast at high ones. Each margin is the smallest over the points that it names, except the sixth.

    1. MST is below each other scheme but CBF above the low ratio; with few destinations MEDYM's functions are equal.
    2. CBF is below channelization at all points.
    3. and 4. CloseMST and BalancedMST are below CBF at the low ratio.
    5. Both are below channelization there.
    6. Channelization is nearer to broadcast than to CBF: its place between them minus a half, the mean at the middle
       ratio.
    7. Channelization wastes least with the multimodal distribution, and
    8. most with the Zipf and the regional one; waste is its usage over that of CBF, at the middle ratio.

    Raises `ClaimsError` with fewer than three ratios, or without one of them for some distribution.
    """
    ratios = sorted({matching_ratio(point) for point in usages})
    if len(ratios) < 3 or len(usages) < len(DISTRIBUTIONS) * len(ratios):
        raise ClaimsError("resource usage needs at least three matching ratios of each distribution")
    low, middle = ratios[0], ratios[len(ratios) // 2]
    at_low = [usage for point, usage in usages.items() if matching_ratio(point) == low]
    above = [usage for point, usage in usages.items() if matching_ratio(point) > low]
    at_middle = {point.partition("+")[0]: usage for point, usage in usages.items() if matching_ratio(point) == middle}
    wasted = {name: usage[CHANNELIZATION] / usage[CBF] for name, usage in at_middle.items()}
    places = [(usage[CHANNELIZATION] - usage[CBF]) / (usage[BROADCAST] - usage[CBF]) for usage in at_middle.values()]
    return (
        min(_excess(usage, other, MST) for usage in above for other in (CLOSE, BALANCED, CHANNELIZATION)),
        min(_excess(usage, CHANNELIZATION, CBF) for usage in usages.values()),
        min(_excess(usage, CBF, CLOSE) for usage in at_low),
        min(_excess(usage, CBF, BALANCED) for usage in at_low),
        min(_excess(usage, CHANNELIZATION, own) for usage in at_low for own in (CLOSE, BALANCED)),
        fmean(places) - 0.5,
        min(wasted[name] for name in (UNIFORM, ZIPF, REGIONAL)) / wasted[MULTIMODAL] - 1,
        min(wasted[name] for name in (ZIPF, REGIONAL)) / max(wasted[UNIFORM], wasted[MULTIMODAL]) - 1,
    )


def link_stress(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Margins of statements about the links in Table 2, each the smallest over the matching ratios that it names.

    1. Content-based forwarding uses fewer links than any other scheme below a ratio of 100%.
    2. The most loaded link under BalancedMST carries less than that under any other scheme.
    """
    found, under = traffic_of(run), networks(run.variants)
    fewer, lower = [], []
    for point, schemes in by_point(run, SCHEMES).items():
        if not all(found[schemes[scheme].name].events for scheme in SCHEMES):
            return Measurement(values=(None, None))
        names = {scheme: schemes[scheme].name for scheme in SCHEMES}
        stress = {scheme: stress_of(found[name], under[name]) for scheme, name in names.items()}
        used = {scheme: np.count_nonzero(stress[scheme]) for scheme in SCHEMES}
        largest = {scheme: float(stress[scheme].max()) for scheme in SCHEMES}
        lower += [largest[other] / largest[BALANCED] - 1 for other in SCHEMES if other != BALANCED]
        if matching_ratio(point) < 1:
            fewer += [used[other] / used[CBF] - 1 for other in SCHEMES if other != CBF]
    return Measurement(values=(min(fewer), min(lower)))


def _excess(usage: Usages, higher: str, lower: str) -> float:
    return usage[higher] / usage[lower] - 1


def _broadcast_usage(network: Network) -> float:
    """Usage of a copy along each edge of the minimum spanning tree of all servers, in seconds."""
    distances = Distances(network.latencies)
    return network.usage(spanning_tree(distances.ranks, 0, np.arange(1, len(distances), dtype=np.uint16)))
