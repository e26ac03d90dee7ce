"""Measures of the claims of the semi-probabilistic paper, on overlays that do not change (section 4, "Static Network").

- The **delivery** of a variant is its delivery ratio: notified over due pairs of an event and a subscriber.
- **Messages** are all messages over links, subscriptions among them (section 4): those of the events, brought to the
  number of events of a published run, and those by which subscriptions were set up once.
- A **route** is the way of a copy until it ends at a dispatcher that has had the event (footnote 4).

A variant is known by its horizon and its threshold.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from analysis.claims.measure import Measure
from analysis.claims.measured_run import MeasuredRun, MeasuredVariant
from analysis.claims.model import ClaimsError, Recipe
from analysis.claims.verdict import Measurement
from record.log import Event

EVENTS = 9957
"""Events of a published run: 11,958,600 messages of flooding, N (l - 1) + 1 = 1201 for each event."""
_ROUTING = "routing"


class Routes(NamedTuple):
    """The routes of one variant."""

    hops: float
    """Mean length."""
    deterministic: float
    """Share of the hops that led to a known subscriber."""


def messages(variant: MeasuredVariant) -> float | None:
    """Messages of a published run; None where nothing was published."""
    sent: Counter[bool] = Counter()
    for row in variant.messages:
        sent[row.kind == "publish"] += row.sent
    return sent[True] / variant.published * EVENTS + sent[False] if variant.published else None


def delivery_by_horizon(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Figure 3: delivery of horizon 1 over 0, what 2 adds to 1, 3 over 2; messages of 0, and of 2 over 1."""
    variants = [_variant(run, horizon, 0.25) for horizon in range(4)]
    delivery = [variant.delivery_ratio for variant in variants]
    gained = None if delivery[1] is None or delivery[2] is None else delivery[2] - delivery[1]
    sent = [messages(variant) for variant in variants]
    return Measurement(
        values=(
            _quotient(delivery[1], delivery[0]),
            gained,
            _quotient(delivery[3], delivery[2]),
            sent[0],
            _quotient(sent[2], sent[1]),
        )
    )


def delivery_at_one_half(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Text on figure 3, a threshold of 0.5: delivery of each horizon, and messages of horizon 3."""
    variants = [_variant(run, horizon, 0.5) for horizon in range(4)]
    return Measurement(values=(*(variant.delivery_ratio for variant in variants), messages(variants[3])))


def delivery_at_degree_9(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Figure 4: delivery of the horizons 0 and 1."""
    return Measurement(values=tuple(_variant(run, horizon, 0.25).delivery_ratio for horizon in (0, 1)))


def delivery_by_threshold(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Figure 5: delivery of horizon 1 at 0.1 and 0.2, of 0 at 0.5, and of 2 at 0.2; messages of horizon 0 at 0.5 over 1
    at 0.2, and of 2 at 0.2 over these two."""
    low, one, two, zero = (_variant(run, *point) for point in ((1, 0.1), (1, 0.2), (2, 0.2), (0, 0.5)))
    return Measurement(
        values=(
            low.delivery_ratio,
            one.delivery_ratio,
            zero.delivery_ratio,
            two.delivery_ratio,
            _quotient(messages(zero), messages(one)),
            _quotient(messages(two), messages(one)),
            _quotient(messages(two), messages(zero)),
        )
    )


def routes(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Figure 6, margins of: routes of the horizons 2 and 3 are shorter than those of 0 and 1, for the larger overlay;
    flooding has the shortest; deterministic hops rise with the size for 2 and 3; they fall for 1."""
    found = _routes(run)
    sizes = sorted({size for size, _, _ in found})
    if len(sizes) < 2:
        raise ClaimsError(f"{run.directory}: overlays of one size; two are needed")
    small, large = sizes[0], sizes[-1]
    hops = [found[large, horizon, 0.25].hops for horizon in range(4)]
    grown = [
        found[large, horizon, 0.25].deterministic - found[small, horizon, 0.25].deterministic for horizon in range(4)
    ]
    return Measurement(
        values=(
            1 - max(hops[2:]) / min(hops[:2]),
            1 - found[large, 0, 1.0].hops / min(hops),
            min(grown[2:]),
            -grown[1],
        )
    )


def _routes(run: MeasuredRun) -> Mapping[tuple[int, int, float], Routes]:
    """The routes by number of brokers, horizon and threshold."""
    ends: Counter[str] = Counter()
    lengths: Counter[str] = Counter()
    labels: dict[str, Counter[str | None]] = defaultdict(Counter)
    for broker in run.brokers:
        had: set[tuple[str, str | None]] = set()
        for record in run.records(broker, b'"event":"received"'):
            if record.event is not Event.RECEIVED or record.kind != "publish":
                continue
            if record.peer is not None:
                labels[record.variant][record.label] += 1
            if (record.variant, record.id) in had:
                ends[record.variant] += 1
                lengths[record.variant] += record.hops or 0
            had.add((record.variant, record.id))
    return {
        (len(variant.overlay.brokers), *_point(variant)): Routes(
            lengths[variant.name] / ends[variant.name],
            labels[variant.name]["deterministic"] / labels[variant.name].total(),
        )
        for variant in run.variants
        if ends[variant.name]
    }


def _point(variant: MeasuredVariant) -> tuple[int, float]:
    """Horizon and threshold."""
    routing = variant.settings[_ROUTING]
    return int(routing["horizon"]), float(routing["threshold"])


def _variant(run: MeasuredRun, horizon: int, threshold: float) -> MeasuredVariant:
    for variant in run.variants:
        if _point(variant) == (horizon, threshold):
            return variant
    raise ClaimsError(f"{run.directory}: no variant with a horizon of {horizon} and a threshold of {threshold:g}")


def _quotient(value: float | None, of: float | None) -> float | None:
    return value / of if value is not None and of else None


MEASURES: Mapping[str, Measure] = {
    "delivery by horizon": delivery_by_horizon,
    "delivery at one half": delivery_at_one_half,
    "delivery at degree 9": delivery_at_degree_9,
    "delivery by threshold": delivery_by_threshold,
    "routes": routes,
}
"""By the names that recipes use."""
