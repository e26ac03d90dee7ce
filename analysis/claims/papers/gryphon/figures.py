"""Curves of the figures of the Gryphon paper (section 5.2), as its measures define them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from analysis.claims.measured_run import MeasuredRun
from analysis.claims.papers.gryphon.failover import group_of, second_of
from analysis.claims.papers.gryphon.start_latency import by_distance
from analysis.claims.quantities import SECONDS_TITLE, Curve, Curves

INTERMEDIATE = "ib"
"""Beginning of the names of intermediate brokers."""


def _latencies(run: MeasuredRun, arguments: Sequence[float]) -> Iterable[Curve]:
    """Delivery latency, local and global start latency, over the number of hops between the first and last broker."""
    (last_local,) = arguments
    found = by_distance(run, last_local)
    hops: list[float | str] = sorted(len(variant.overlay.brokers) - 2.0 for variant in run.variants)
    yield Curve(name="delivery", x=hops, y=[each.delivery for each in found])
    yield Curve(name="start, covered locally", x=hops, y=[each.local for each in found])
    yield Curve(name="start, not covered", x=hops, y=[each.local + each.beyond for each in found])


def _rates(run: MeasuredRun, sizes: Sequence[float]) -> Iterable[Curve]:
    """Notifications of each group of clients in each second of the run phase."""
    (variant,) = run.variants
    seconds = range(int(variant.run_seconds))
    counted = Counter(
        (group_of(row.client, sizes), second_of(variant, row.notified_ns)) for row in variant.notifications
    )
    for group in range(1, len(sizes) + 1):
        yield Curve(name=f"group {group}", x=list(map(float, seconds)), y=[float(counted[group, at]) for at in seconds])


def _loads(run: MeasuredRun, _: Sequence[float]) -> Iterable[Curve]:
    """Load of each intermediate broker in each second of the run phase."""
    (variant,) = run.variants
    for broker in variant.overlay.brokers:
        if broker.id.startswith(INTERMEDIATE):
            found = {row.second: row.processor for row in variant.loads if row.broker == broker.id}
            yield Curve(name=broker.id, x=[float(at) for at in sorted(found)], y=[found[at] for at in sorted(found)])


CURVES: Mapping[str, Curves] = {
    "latencies by distance": Curves("hops", "median latency, ms", _latencies),
    "rates of groups": Curves(SECONDS_TITLE, "notifications a second", _rates),
    "loads of intermediate brokers": Curves(SECONDS_TITLE, "load, share of time", _loads),
}
"""Curves by the names that figures use."""
