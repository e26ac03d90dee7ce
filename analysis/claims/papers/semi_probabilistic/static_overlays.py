"""Measures of overlays that do not change (section 4, "Static Network", figures 3 to 5 and the text on them)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from analysis.claims.measured_run import MeasuredRun
from analysis.claims.model import Recipe
from analysis.claims.papers.semi_probabilistic.variants import (
    DECLARATION,
    HORIZONS,
    by_horizon,
    copies,
    difference,
    excess,
    least,
    messages,
    named,
    quotient,
)
from analysis.claims.verdict import Measurement
from broker_service.messages import Kind
from record.log import Event
from record.time_units import SECOND


def delivery_by_horizon(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Figure 3: delivery of horizon 1 over 0, what 2 adds to 1, 3 over 2; messages of 0, and of 2 over 1."""
    variants = by_horizon(run)
    delivery = [variant.delivery_ratio for variant in variants]
    sent = [messages(variant) for variant in variants]
    return Measurement(
        values=(
            quotient(delivery[1], delivery[0]),
            difference(delivery[2], delivery[1]),
            quotient(delivery[3], delivery[2]),
            sent[0],
            quotient(sent[2], sent[1]),
        )
    )


def delivery_at_one_half(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Text on figure 3, a threshold of 0.5: delivery of each horizon, and messages of horizon 3."""
    variants = by_horizon(run, "degree-5")
    return Measurement(values=(*(variant.delivery_ratio for variant in variants), messages(variants[3])))


def delivery_at_degree_9(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Figure 4: delivery of the horizons 0 and 1."""
    zero, one, _, _ = by_horizon(run, "degree-9")
    return Measurement(values=(zero.delivery_ratio, one.delivery_ratio))


def messages_by_fanout(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Text on figure 4: messages with a degree of 9 and a threshold of 0.25 over those with 5 and 0.5, by horizon."""
    pairs = zip(by_horizon(run, "degree-9"), by_horizon(run, "degree-5"), strict=True)
    return Measurement(values=tuple(quotient(messages(nine), messages(five)) for nine, five in pairs))


def delivery_by_threshold(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Figure 5: delivery of horizon 1 at 0.1 and 0.2, of 0 at 0.5, and of 2 at 0.2; messages of horizon 0 at 0.5 over 1
    at 0.2, and of 2 at 0.2 over these two."""
    points = ("tau-0.1.phi-1", "tau-0.2.phi-1", "tau-0.2.phi-2", "tau-0.5.phi-0")
    low, one, two, zero = (named(run, point) for point in points)
    return Measurement(
        values=(
            low.delivery_ratio,
            one.delivery_ratio,
            zero.delivery_ratio,
            two.delivery_ratio,
            quotient(messages(zero), messages(one)),
            quotient(messages(two), messages(one)),
            quotient(messages(two), messages(zero)),
        )
    )


def without_limit(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Margins of the text on figure 3: links to all known subscribers deliver more, and take at least twice the
    copies."""
    horizons = HORIZONS[2:]
    pairs = [(named(run, "unlimited", horizon), named(run, "limited", horizon)) for horizon in horizons]
    more = [excess(free.delivery_ratio, bound.delivery_ratio) for free, bound in pairs]
    dearer = [excess(copies(free), 2 * (copies(bound) or 0)) for free, bound in pairs]
    return Measurement(values=(least(more), least(dearer)))


def table_sizes(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Margins of section 1: brokers with a horizon of 1, 2 and 3 have fewer entries than with subscription forwarding.

    Subscription forwarding stores every subscription at every broker. An entry is a subscription together with the link
    that it came by, or with the client that made it.
    """
    stored = _entries(run)
    margins = []
    for variant in by_horizon(run)[1:]:
        made, by_links = stored[variant.name]
        margins.append(1 - (made + by_links) / (made * len(variant.overlay.brokers)) if made else None)
    return Measurement(values=tuple(margins))


def _entries(run: MeasuredRun) -> Mapping[str, tuple[int, int]]:
    """Number of subscriptions that clients made, and of those that brokers have by their links when the run ends, by
    variant."""
    ended = {variant.name: variant.run_began_ns + variant.run_seconds * SECOND for variant in run.variants}
    made: Counter[str] = Counter()
    by_links: Counter[str] = Counter()
    for broker in run.brokers:
        known: set[tuple[str, str, str | None]] = set()
        for record in run.records(broker, DECLARATION):
            if record.event is not Event.RECEIVED or record.time >= ended[record.variant]:
                continue
            if record.peer is None:
                made[record.variant] += record.kind == Kind.SUBSCRIBE.word
            elif record.kind == Kind.UNSUBSCRIBE.word:
                known.discard((record.variant, record.peer, record.id))
            elif not (record.id or "").startswith(f"{broker}."):
                known.add((record.variant, record.peer, record.id))
        by_links.update(variant for variant, _, _ in known)
    return {variant.name: (made[variant.name], by_links[variant.name]) for variant in run.variants}
