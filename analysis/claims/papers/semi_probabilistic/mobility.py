"""Measures of a mobile network (section 4, "A Mobility Scenario", figure 11).

The paper does not state for how long it ran, so messages are compared with each other. They are those of an event, and
its share of the (un)subscriptions that motion caused in the phase `run`, at 5 events a second from each broker. Notices
of leaves are not counted, because the paper does not say how brokers learn of leaves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from analysis.claims.measured_run import MeasuredRun
from analysis.claims.model import Recipe
from analysis.claims.papers.semi_probabilistic.variants import (
    DECLARATION,
    by_horizon,
    copies,
    difference,
    excess,
    least,
    quotient,
)
from analysis.claims.verdict import Measurement
from record.log import Event
from record.time_units import SECOND

LOW, HIGH = "tau-0.25", "tau-0.5"
EVENTS_A_SECOND = 5.0
"""Events that each broker publishes in the paper."""


class Load(NamedTuple):
    """Messages for each event."""

    copies: float | None
    changes: float
    """The event's share of (un)subscriptions."""

    @property
    def total(self) -> float | None:
        return None if self.copies is None else self.copies + self.changes


def mobile(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Figure 11: delivery of horizon 0 at 0.5, that of horizon 1 at 0.25 over it, and their messages likewise."""
    loads = _loads(run)
    zero, one = by_horizon(run, HIGH)[0], by_horizon(run, LOW)[1]
    return Measurement(
        values=(
            zero.delivery_ratio,
            quotient(one.delivery_ratio, zero.delivery_ratio),
            quotient(loads[LOW][1].total, loads[HIGH][0].total),
        )
    )


def mobile_order(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Margins of the text on figure 11: at 0.25, horizon 1 delivers more than 0, 2 and 3; at 0.5, the horizons 1, 2 and
    3 deliver more than 0."""
    low, high = ([variant.delivery_ratio for variant in by_horizon(run, point)] for point in (LOW, HIGH))
    return Measurement(
        values=(
            least([excess(low[1], other) for other in (low[0], low[2], low[3])]),
            least([excess(other, high[0]) for other in high[1:]]),
        )
    )


def mobile_messages(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Table of figure 11: messages over those of horizon 0 at 0.25, for the other horizons there, then all at 0.5."""
    zero, *others = (load.total for loads in _loads(run).values() for load in loads)
    return Measurement(values=tuple(quotient(sent, zero) for sent in others))


def dearest(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Margins of two statements on figure 11: horizon 3 takes the most messages, at 0.25 and at 0.5; more than half of
    the messages that it takes beyond those of horizon 2 at 0.25 are (un)subscriptions."""
    loads = _loads(run)
    dearer = [
        least([excess(point[3].total, other.total) for other in point[:3]]) for point in (loads[LOW], loads[HIGH])
    ]
    two, three = loads[LOW][2:]
    share = quotient(three.changes - two.changes, difference(three.total, two.total))
    return Measurement(values=(*dearer, difference(share, 0.5)))


def _loads(run: MeasuredRun) -> Mapping[str, Sequence[Load]]:
    """Messages by threshold, for each horizon."""
    begun = {variant.name: variant.run_began_ns for variant in run.variants}
    ended = {variant.name: variant.run_began_ns + variant.run_seconds * SECOND for variant in run.variants}
    changes: Counter[str] = Counter()
    for broker in run.brokers:
        for record in run.records(broker, DECLARATION):
            if record.event is Event.SENT and begun[record.variant] <= record.time < ended[record.variant]:
                changes[record.variant] += 1
    return {
        point: [
            Load(
                copies(variant),
                changes[variant.name] / (variant.run_seconds * len(variant.overlay.brokers) * EVENTS_A_SECOND),
            )
            for variant in by_horizon(run, point)
        ]
        for point in (LOW, HIGH)
    }
