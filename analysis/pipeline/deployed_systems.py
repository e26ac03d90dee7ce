"""Figures of deployed systems: what their clients have to throw away, and delays beyond those of links."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import UNSET, UnsetType

from analysis.tables.delays import DelayByHops
from analysis.tables.summary import SystemFigures
from analysis.tables.traffic import Drop
from record.contract import CAME_AGAIN, NOT_WANTED
from record.manifest import VariantRecord
from topology.model import Overlay

_SECOND_MS = 1000


def system_figures(
    variant: VariantRecord, overlay: Overlay, drops: Iterable[Drop], by_hops: Sequence[DelayByHops]
) -> SystemFigures | UnsetType:
    """The figures of a variant, given its own rows of both tables; not set where its brokers are no such system."""
    if variant.foreign is UNSET or variant.foreign.system is UNSET:
        return UNSET
    counts = Counter[str]()
    for drop in drops:
        counts[drop.reason] += drop.count
    return SystemFigures(
        system=variant.foreign.system,
        not_wanted=counts[NOT_WANTED],
        came_again=counts[CAME_AGAIN],
        beyond_links_ms=_beyond_links(overlay, by_hops),
    )


def _beyond_links(overlay: Overlay, by_hops: Sequence[DelayByHops]) -> float | UnsetType:
    """The mean of delays less those of links, in milliseconds, by the number of links that notifications crossed."""
    delays = {properties.delay for link in overlay.links for properties in (link.forward, link.backward)}
    if len(delays) != 1 or not by_hops or any(row.hops < 0 for row in by_hops):
        return UNSET
    of_one = _SECOND_MS * delays.pop()
    beyond = sum(row.notifications * (row.mean_ms - of_one * row.hops) for row in by_hops)
    return beyond / sum(row.notifications for row in by_hops)
