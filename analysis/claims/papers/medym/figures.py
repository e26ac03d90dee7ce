"""Quantities and curves of the figures of the MEDYM paper (sections 5 and 6), as its measures define them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from analysis.claims.measured_run import MeasuredRun, MeasuredVariant
from analysis.claims.papers.medym.bandwidth import largest_stress, mean_links
from analysis.claims.papers.medym.delay_penalty import penalties_of
from analysis.claims.papers.medym.destination_lists import mean_list
from analysis.claims.papers.medym.network_claims import normalized_usages
from analysis.claims.papers.medym.node_stress import PAPERS_SERVERS, largest_over_mean, mean_stress, traversed_share
from analysis.claims.papers.medym.reliability import lost_of
from analysis.claims.papers.medym.replication import replication_of
from analysis.claims.papers.medym.traffic import Traffic, traffic_of
from analysis.claims.quantities import Curve, Curves, Quantity

PENALTIES = np.arange(0.5, 5.01, 0.25)
"""Relative delay penalties at which their distribution is drawn."""


def _of_traffic(title: str, of: Callable[[Traffic], float | None]) -> Quantity:
    return Quantity(title, lambda run, variant: of(traffic_of(run)[variant.name]))


def _traversed(traffic: Traffic) -> float | None:
    share = traversed_share(traffic)
    return None if share is None else share * PAPERS_SERVERS


def _mean_list(traffic: Traffic) -> float | None:
    return mean_list(traffic) if len(traffic.event) else None


def _usage(run: MeasuredRun, variant: MeasuredVariant) -> float | None:
    point, _, scheme = variant.name.rpartition("+")
    return run.once(normalized_usages).get(point, {}).get(scheme)


def _penalties(run: MeasuredRun, _: Sequence[float]) -> Iterable[Curve]:
    """The share of paths whose penalty is at most each of `PENALTIES`."""
    for variant in run.variants:
        found = np.sort(penalties_of(variant).penalties)
        if len(found):
            shares = np.searchsorted(found, PENALTIES, side="right") / len(found)
            yield Curve(name=variant.name, x=PENALTIES.tolist(), y=shares.tolist())


QUANTITIES: Mapping[str, Quantity] = {
    "node stress": _of_traffic("mean node stress, bits", mean_stress),
    "largest node stress": _of_traffic("largest node stress, bits", largest_stress),
    "node stress balance": _of_traffic("most loaded server over the mean", largest_over_mean),
    "servers traversed": _of_traffic("servers of 1,000 traversed", _traversed),
    "links travelled": _of_traffic("mean links travelled", mean_links),
    "destination list": _of_traffic("servers in a list", _mean_list),
    "normalized resource usage": Quantity("NRU", _usage),
    "replication": Quantity("replication", replication_of),
    "lost deliveries": Quantity("lost share of deliveries", lost_of),
}
"""Quantities by the names that figures use."""

CURVES: Mapping[str, Curves] = {"delay penalties": Curves("relative delay penalty", "share of paths", _penalties)}
"""Curves by the names that figures use."""
