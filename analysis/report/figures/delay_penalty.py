"""The section on relative delay penalty (`analysis.judging.deliveries.delay_penalty`), for runs whose overlay is a full
mesh."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import pyarrow as pa
import pyarrow.compute as pc

from analysis.judging.deliveries.delay_penalty import DelayPenalties, DirectLinks
from analysis.report.figures.style import blank_figure, colour, dash, log_axis
from analysis.tables.deliveries import Notification
from analysis.tables.results import read_columns
from topology.model import Overlay

POINTS = 400
"""Largest number of points of each variant's curve."""
_COLUMNS = ("repeat", "delay_ms", "path")


@dataclass(frozen=True, slots=True)
class PenaltyDistribution:
    """The distribution of the penalties of one variant's notifications."""

    variant: str
    notifications: int
    """Number of the notifications at other brokers than the publisher's."""
    penalties: Sequence[float]
    """Penalties in ascending order: all of them, or as many quantiles at equal steps."""
    below_direct: float
    """Share of the notifications that were faster than the direct link."""

    @property
    def median(self) -> float:
        return float(np.median(self.penalties))


def read_delay_penalties(
    results: Path, overlays: Mapping[str, Overlay], variants: Sequence[str]
) -> list[PenaltyDistribution]:
    """The penalties of each variant whose overlay is a full mesh with delays, in the order of `variants`."""
    if not any(overlays[variant].is_full_mesh for variant in variants):
        return []
    found = {
        variant: delay_penalties(variant, batches, overlays[variant])
        for variant, batches in read_columns(results, Notification, _COLUMNS)
        if variant in variants and overlays[variant].is_full_mesh
    }
    return [penalties for variant in variants if (penalties := found.get(variant)) is not None]


def delay_penalties(variant: str, batches: Iterable[pa.RecordBatch], overlay: Overlay) -> PenaltyDistribution | None:
    """The penalties of one variant, from the columns `_COLUMNS` of its notifications.

    None without a notification at another broker over a link with a delay. Memory: sixteen bytes a notification.
    """
    links = DirectLinks(overlay)
    collected = [links.penalties((), ())]
    for batch in batches:
        known = pc.and_(pc.equal(batch["repeat"], 0), pc.is_valid(batch["delay_ms"]))
        travelled = batch.filter(
            pc.and_(known, pc.fill_null(pc.greater(pc.list_value_length(batch["path"]), 1), False))
        )
        collected.append(links.penalties(travelled["delay_ms"].to_pylist(), travelled["path"].to_pylist()))
    found = DelayPenalties(*map(np.concatenate, zip(*collected, strict=True)))
    if not len(found.penalties):
        return None
    ordered = np.sort(found.penalties)
    shown = ordered if len(ordered) <= POINTS else np.quantile(ordered, np.linspace(0, 1, POINTS))
    return PenaltyDistribution(variant, len(ordered), shown.tolist(), found.below_direct)


def penalty_figure(found: Sequence[PenaltyDistribution], variants: Sequence[str]) -> go.Figure:
    """Cumulative distribution of the penalty: the share of notifications up to each."""
    figure = blank_figure()
    for penalties in found:
        index = variants.index(penalties.variant)
        figure.add_scatter(
            x=penalties.penalties,
            y=np.linspace(0, 100, len(penalties.penalties)).tolist(),
            mode="lines",
            name=penalties.variant,
            line={"color": colour(index), "width": 2, "dash": dash(index)},
            hovertemplate="%{y:.1f}% up to %{x:.2f}",
        )
    if found:
        figure.add_vline(x=1, line={"dash": "dot", "width": 1, "color": "gray"})
    shown = (penalty for penalties in found for penalty in penalties.penalties)
    figure.update_xaxes(**log_axis("relative delay penalty (log)", shown))
    figure.update_yaxes(title="share of notifications, %", range=[0, 101])
    return figure
