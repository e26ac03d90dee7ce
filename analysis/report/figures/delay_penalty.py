"""The section on relative delay penalty, for runs whose overlay is a full mesh.

The *relative delay penalty* (RDP) of a notification at another broker than the publisher's is its delay over the
latency of the direct link between the two brokers (MEDYM, section 6). Below 1, the publication's way over other brokers
was faster than the direct one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from analysis.report.figures.style import blank_figure, colour, dash, log_axis
from analysis.tables.deliveries import Notification
from analysis.tables.results import read_columns
from topology.link_properties import BrokerId
from topology.model import Overlay

POINTS = 400
"""Largest number of points of each variant's curve."""
_COLUMNS = ("repeat", "delay_ms", "path")
_ROUNDING = 1e-6
"""Largest relative error of a delay, because logs have whole nanoseconds."""


@dataclass(frozen=True, slots=True)
class DelayPenalties:
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
) -> list[DelayPenalties]:
    """The penalties of each variant whose overlay is a full mesh with delays, in the order of `variants`."""
    if not any(overlays[variant].is_full_mesh for variant in variants):
        return []
    found = {
        variant: delay_penalties(variant, batches, overlays[variant])
        for variant, batches in read_columns(results, Notification, _COLUMNS)
        if variant in variants and overlays[variant].is_full_mesh
    }
    return [penalties for variant in variants if (penalties := found.get(variant)) is not None]


def delay_penalties(variant: str, batches: Iterable[pa.RecordBatch], overlay: Overlay) -> DelayPenalties | None:
    """The penalties of one variant, from the columns `_COLUMNS` of its notifications.

    None without a notification at another broker over a link with a delay. Memory: eight bytes a notification.
    """
    latencies: dict[tuple[BrokerId, BrokerId], float] = {}
    collected = [np.empty(0)]
    for batch in batches:
        known = pc.and_(pc.equal(batch["repeat"], 0), pc.is_valid(batch["delay_ms"]))
        travelled = batch.filter(
            pc.and_(known, pc.fill_null(pc.greater(pc.list_value_length(batch["path"]), 1), False))
        )
        direct = [_latency(path[0], path[-1], overlay, latencies) for path in travelled["path"].to_pylist()]
        collected.append(_ratios(travelled["delay_ms"].to_numpy(), np.array(direct, np.float64)))
    penalties = np.sort(np.concatenate(collected))
    if not len(penalties):
        return None
    shown = penalties if len(penalties) <= POINTS else np.quantile(penalties, np.linspace(0, 1, POINTS))
    return DelayPenalties(variant, len(penalties), shown.tolist(), float((penalties < 1 - _ROUNDING).mean()))


def _latency(a: BrokerId, b: BrokerId, overlay: Overlay, known: dict[tuple[BrokerId, BrokerId], float]) -> float:
    """Delay of the link from one broker to another, in milliseconds; kept in `known`, because links are made anew."""
    found = known.get((a, b))
    if found is None:
        found = known[a, b] = 1000 * overlay.link(a, b).properties_from(a).delay
    return found


def _ratios(delays: NDArray[np.float64], direct: NDArray[np.float64]) -> NDArray[Any]:
    with_delay = direct > 0
    return delays[with_delay] / direct[with_delay]


def penalty_figure(found: Sequence[DelayPenalties], variants: Sequence[str]) -> go.Figure:
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
