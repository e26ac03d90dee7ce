"""Curves and numbers of a run as figures draw them, and the types in which a paper's measures offer their own.

A *quantity* is one number of each variant, which a figure draws over a setting. *Curves* are whole, such as a delay
over time; a run gives any number of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from statistics import fmean

import msgspec

from analysis.claims.measured_run import MeasuredRun, MeasuredVariant
from broker_service.messages import Kind

MOST_POINTS = 120
"""Points of a curve over time; longer runs are summed up over several seconds a point."""
DELAY_TITLE = "mean delay, ms"
SECONDS_TITLE = "seconds of the run phase"


class Curve(msgspec.Struct, frozen=True, kw_only=True):
    """One curve in the run of one seed."""

    name: str
    x: list[float | str]
    y: list[float | None]
    """Value at each place of `x`; None where the run gives no number."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number of a whole variant."""

    title: str
    """With the unit, as an axis shows it."""
    of: Callable[[MeasuredRun, MeasuredVariant], float | None]


@dataclass(frozen=True, slots=True)
class Curves:
    """Curves over an axis of their own."""

    x_title: str
    y_title: str
    of: Callable[[MeasuredRun, Sequence[float]], Iterable[Curve]]
    """Gives the curves of a run, with the arguments of the figure."""


def of_variant(title: str, of: Callable[[MeasuredVariant], float | None]) -> Quantity:
    """A quantity that needs nothing of the run but its variant."""
    return Quantity(title, lambda _, variant: of(variant))


def over_time(
    variant: MeasuredVariant, rows: Iterable[tuple[float, float]], total: Callable[[list[float]], float]
) -> Curve:
    """A variant's values over the run phase: one number of all values in each interval.

    Rows are seconds of the run phase with a value each; `total` makes one number of an interval's values.
    """
    width = max(1, ceil(variant.run_seconds / MOST_POINTS))
    values: dict[int, list[float]] = defaultdict(list)
    for second, value in rows:
        if 0 <= second < variant.run_seconds:
            values[int(second) // width].append(value)
    numbers = sorted(values)
    return Curve(
        name=variant.name,
        x=[float(number * width) for number in numbers],
        y=[total(values[number]) for number in numbers],
    )


def mean_delay(variant: MeasuredVariant) -> float | None:
    """Mean delay of all notifications, in milliseconds; None without one."""
    delays = [row.delay_ms for row in variant.notifications if row.delay_ms is not None]
    return fmean(delays) if delays else None


def _delays(variant: MeasuredVariant) -> Iterable[tuple[float, float]]:
    return (
        (row.second, row.delay_ms)
        for row in variant.notifications
        if row.second is not None and row.delay_ms is not None
    )


def _mean_delays(run: MeasuredRun, _: Sequence[float]) -> Iterable[Curve]:
    """The mean delay of the publications due in each interval of the run phase, in milliseconds."""
    return (over_time(variant, _delays(variant), fmean) for variant in run.variants)


def _largest_delays(run: MeasuredRun, _: Sequence[float]) -> Iterable[Curve]:
    return (over_time(variant, _delays(variant), max) for variant in run.variants)


def _delivery(run: MeasuredRun, _: Sequence[float]) -> Iterable[Curve]:
    return (
        over_time(variant, ((row.second, row.ratio) for row in variant.delivery_over_time), fmean)
        for variant in run.variants
    )


def _sent(*kinds: Kind) -> Callable[[MeasuredVariant], float | None]:
    """Messages of some kinds that brokers sent each other."""
    words = {kind.word for kind in kinds}

    def count(variant: MeasuredVariant) -> float | None:
        return float(sum(row.sent for row in variant.messages if row.kind in words))

    return count


def _messages_per_publication(variant: MeasuredVariant) -> float | None:
    sent = sum(row.sent for row in variant.messages if row.kind == Kind.PUBLISH.word)
    return sent / variant.published if variant.published else None


def _busiest_load(variant: MeasuredVariant) -> float | None:
    """Mean load in the run phase of the broker that has most."""
    loads: dict[str, list[float]] = defaultdict(list)
    for row in variant.loads:
        loads[row.broker].append(row.processor)
    return max((fmean(found) for found in loads.values()), default=None)


QUANTITIES: Mapping[str, Quantity] = {
    "mean delay": of_variant(DELAY_TITLE, mean_delay),
    "delivery ratio": of_variant("delivered share", lambda variant: variant.delivery_ratio),
    "messages per publication": of_variant("messages per publication", _messages_per_publication),
    "route length": of_variant("mean links of ended routes", lambda variant: variant.mean_route),
    "advertising messages": of_variant("messages of advertising", _sent(Kind.ADVERTISE, Kind.UNADVERTISE)),
    "subscribing messages": of_variant("messages of subscribing", _sent(Kind.SUBSCRIBE, Kind.UNSUBSCRIBE)),
    "publishing messages": of_variant("messages of publishing", _sent(Kind.PUBLISH)),
    "load of the busiest broker": of_variant("load, share of time", _busiest_load),
}
"""Quantities of any run, by the names that figures use."""

CURVES: Mapping[str, Curves] = {
    "mean delay over time": Curves(SECONDS_TITLE, DELAY_TITLE, _mean_delays),
    "largest delay over time": Curves(SECONDS_TITLE, "largest delay, ms", _largest_delays),
    "delivery over time": Curves(SECONDS_TITLE, "delivered share", _delivery),
}
"""Curves of any run, by the names that figures use."""
