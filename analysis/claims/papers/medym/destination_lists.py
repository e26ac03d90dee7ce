"""Destination lists of MEDYM (sections 3.1 and 5.2.3): the invariants of dynamic multicast, and the size of lists."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean

import numpy as np

from analysis.claims.measured_run import MeasuredRun
from analysis.claims.model import Recipe
from analysis.claims.papers.medym.notified import Integers
from analysis.claims.papers.medym.traffic import Numbers, Traffic, traffic_of
from analysis.claims.papers.medym.variants import BALANCED, CLOSE, MST, MULTICASTS, by_point
from analysis.claims.verdict import Measurement

_SIMILAR = 0.25
"""Largest relative difference of sizes that are largely similar."""


def invariants(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Violations of the routing invariants and of the properties that follow from them, over all events of MEDYM's
    variants.

    A case is an event. It is violated where (1) a server receives it twice, (2) a server receives it although none of
    its clients is notified, (3) a server does not receive it although a client is notified there, or (4) the list of a
    copy has another number of servers than those that the event then reaches through its receiver. With (1) to (3), the
    lists of next hops are a partition of their sender's list without the sender exactly when (4) holds nowhere.
    """
    checked = violations = 0
    example = ""
    found = traffic_of(run)
    for variant in run.variants:
        if variant.name.rpartition("+")[2] not in MULTICASTS:
            continue
        traffic = found[variant.name]
        destinations = traffic.destinations
        for event, wrong in enumerate(_violations(traffic, destinations)):
            checked += 1
            if wrong:
                violations += 1
                example = example or f"{variant.name}: {list(traffic.events)[event]} {wrong}"
    return Measurement(values=(float(violations),), checked=checked, example=example)


def list_sizes(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Growth of the mean size of destination lists with the number m of matching servers (figure 8).

    For each routing function, the coefficient of determination of a straight line over ln m, minus that of one over m,
    from one point for each matching ratio. Then, at the largest matching ratio: the lists of MST compared with those of
    CloseMST, minus 1; and `_SIMILAR` minus the relative difference between BalancedMST and CloseMST.
    """
    found, points = traffic_of(run), by_point(run, MULTICASTS)
    margins: list[float | None] = []
    largest: dict[str, float] = {}
    for scheme in MULTICASTS:
        matching, sizes = [], []
        for schemes in points.values():
            traffic = found[schemes[scheme].name]
            if len(traffic.event):
                matching.append(fmean(traffic.copies[traffic.copies > 0]))
                sizes.append(mean_list(traffic))
        if len(matching) < 3:
            return Measurement(values=(None,) * 5)
        over = np.array(matching)
        margins.append(straightness(np.log(over), np.array(sizes)) - straightness(over, np.array(sizes)))
        largest[scheme] = sizes[-1]
    return Measurement(
        values=(
            *margins,
            largest[MST] / largest[CLOSE] - 1,
            _SIMILAR - abs(largest[BALANCED] / largest[CLOSE] - 1),
        )
    )


def mean_list(traffic: Traffic) -> float:
    """Mean number of servers in the destination list of a copy, the next hop included. Needs a copy."""
    return float(traffic.listed.mean())


def straightness(x: Numbers, y: Numbers) -> float:
    """Coefficient of determination of the least-squares line: 1 for points on a line. Needs two different x."""
    residuals = y - np.polynomial.Polynomial.fit(x, y, 1)(x)
    total = float(((y - y.mean()) ** 2).sum())
    return 1 - float((residuals**2).sum()) / total if total else 1.0


def _violations(traffic: Traffic, destinations: Sequence[Integers]) -> Iterator[str]:
    """For each event the first violation found, or nothing."""
    order = np.argsort(traffic.event, kind="stable")
    ends = np.cumsum(traffic.copies)
    listed = traffic.listed
    for event, (end, count) in enumerate(zip(ends.tolist(), traffic.copies.tolist(), strict=True)):
        copies = order[end - count : end]
        hops = zip(traffic.sender[copies].tolist(), traffic.receiver[copies].tolist(), strict=True)
        lists = dict(zip(traffic.receiver[copies].tolist(), listed[copies].tolist(), strict=True))
        yield _violation(list(hops), lists, set(destinations[event].tolist()))


def _violation(hops: Sequence[tuple[int, int]], lists: dict[int, int], wanted: set[int]) -> str:
    receivers = [receiver for _, receiver in hops]
    if len(lists) < len(receivers):
        return "came to a server twice"
    if other := set(receivers) - wanted:
        return f"came to {len(other)} servers without a matching subscription"
    if missed := wanted - set(receivers):
        return f"did not come to {len(missed)} servers with matching subscriptions"
    reached = dict.fromkeys(receivers, 1)
    parent = {receiver: sender for sender, receiver in hops}
    for receiver in receivers:
        above = parent[receiver]
        while above in reached:
            reached[above] += 1
            above = parent[above]
    wrong = sum(reached[receiver] != lists[receiver] for receiver in receivers)
    return f"has {wrong} destination lists with other servers than it reaches" if wrong else ""
