"""Quantities of the figures of the OctopiA paper (section 10), as its measures define them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from analysis.claims.measured_run import MeasuredRun, MeasuredVariant
from analysis.claims.papers.octopia.control_traffic import Spreads, advertisements, subscriptions
from analysis.claims.papers.octopia.router_work import matching_times, selection_times, typical
from analysis.claims.quantities import Quantity


def _delay(title: str, found: Callable[[MeasuredRun], Spreads]) -> Quantity:
    def of(run: MeasuredRun, variant: MeasuredVariant) -> float | None:
        mean = run.once(found)[variant.name].mean_delay
        return None if mean is None else mean / 1e6

    return Quantity(f"mean {title} delay, ms", of)


def _stored(title: str, found: Callable[[MeasuredRun], Spreads]) -> Quantity:
    def of(run: MeasuredRun, variant: MeasuredVariant) -> float | None:
        return run.once(found)[variant.name].stored / len(variant.overlay.brokers)

    return Quantity(f"mean {title} of a broker", of)


def _time(title: str, found: Callable[[MeasuredRun], Mapping[str, list[int]]]) -> Quantity:
    def of(run: MeasuredRun, variant: MeasuredVariant) -> float | None:
        mean = typical(run.once(found).get(variant.name, ()))
        return None if mean is None else mean / 1e3

    return Quantity(f"mean {title}, us", of)


QUANTITIES: Mapping[str, Quantity] = {
    "advertisement delay": _delay("advertisement", advertisements),
    "stored advertisements": _stored("advertisements", advertisements),
    "subscription delay": _delay("subscription", subscriptions),
    "stored subscriptions": _stored("subscriptions", subscriptions),
    "matching delay": _time("matching delay", matching_times),
    "path selection": _time("path-selection time", selection_times),
}
"""The measured quantities, by the names that the claims on figures use."""
