"""Delivery latency, and the latency of subscriptions, over the distance of publishers (Gryphon, section 5.2, figure 5).

- **DLat** is the median delay of notifications.
- **DSLat** is the median time from a subscription, as its client issues it in the run phase, to the client's first
  notification. It is *local* where identical subscriptions stand at the same broker, and *global* elsewhere: the
  recipe's argument is the last topic of the local ones.

The variants differ in the number of brokers on the line.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import NamedTuple

from analysis.claims.measured_run import MeasuredRun, MeasuredVariant
from analysis.claims.model import ClaimsError, Recipe
from analysis.claims.verdict import Measurement
from record.log import Event, TraceRecord

_LINEAR = 0.2
"""Largest relative difference of two increments, or of two latencies, that count as equal."""


class Latencies(NamedTuple):
    """Medians of one variant, milliseconds."""

    delivery: float
    local: float
    beyond: float
    """The global latency minus the local one: the part of the network and of other brokers."""


def latencies(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """DLat, local DSLat and global DSLat, each at the three distances, milliseconds."""
    found = by_distance(run, *recipe.arguments)
    return Measurement(
        values=(
            *(each.delivery for each in found),
            *(each.local for each in found),
            *(each.local + each.beyond for each in found),
        )
    )


def ratios(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """DLat of the second and the third distance over the first, then the same of local DSLat, and of global less local
    DSLat."""
    first, *others = by_distance(run, *recipe.arguments)
    return Measurement(
        values=tuple(
            other / base for base, grown in zip(first, zip(*others, strict=True), strict=True) for other in grown
        )
    )


def growth(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Margins of: DLat grows linearly, local DSLat is constant, global DSLat grows linearly. The three distances are
    equally far apart."""
    near, middle, far = by_distance(run, *recipe.arguments)
    return Measurement(
        values=(
            _linear(near.delivery, middle.delivery, far.delivery),
            _LINEAR - abs(far.local / near.local - 1),
            _linear(*(each.local + each.beyond for each in (near, middle, far))),
        )
    )


def _linear(near: float, middle: float, far: float) -> float:
    return _LINEAR - abs((far - middle) / (middle - near) - 1)


def by_distance(run: MeasuredRun, last_local: float) -> Sequence[Latencies]:
    """The latencies of each variant, from the shortest line to the longest."""
    subscribed: dict[str, list[TraceRecord]] = defaultdict(list)
    for record in run.client_records(b'"event":"subscribe"'):
        if record.event is Event.SUBSCRIBE:
            subscribed[record.variant].append(record)
    variants = sorted(run.variants, key=lambda variant: len(variant.overlay.brokers))
    return [_latencies(variant, subscribed[variant.name], last_local) for variant in variants]


def _latencies(variant: MeasuredVariant, subscribed: Iterable[TraceRecord], last_local: float) -> Latencies:
    local: list[float] = []
    beyond: list[float] = []
    notified = notified_times(variant)
    for record in subscribed:
        if record.time < variant.run_began_ns:
            continue
        latency = start_latency(record, notified)
        if latency is not None:
            (local if _topic(record) <= last_local else beyond).append(latency / 1e6)
    if not (local and beyond and variant.notifications):
        raise ClaimsError(f"{variant.name}: no subscriptions in the run phase that are covered, and that are not")
    delivery = median(row.delay_ms for row in variant.notifications if row.delay_ms is not None)
    return Latencies(delivery, median(local), median(beyond) - median(local))


def notified_times(variant: MeasuredVariant) -> Mapping[str, Sequence[int]]:
    """Times of all first notifications of each client, in order; nanoseconds."""
    times: dict[str, list[int]] = defaultdict(list)
    for row in variant.notifications:
        times[row.client].append(row.notified_ns)
    return {client: sorted(found) for client, found in times.items()}


def start_latency(subscription: TraceRecord, notified: Mapping[str, Sequence[int]]) -> int | None:
    """Nanoseconds from a subscription to the client's next notification; None where none follows."""
    times = notified.get(subscription.client or "", ())
    place = bisect_left(times, subscription.time)
    return times[place] - subscription.time if place < len(times) else None


def _topic(subscription: TraceRecord) -> float:
    """The last topic that a subscription names."""
    return max(predicate.number or 0 for predicate in subscription.predicates or ())
