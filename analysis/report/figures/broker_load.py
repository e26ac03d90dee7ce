"""The section on the load of brokers: processor shares over time, one map of brokers and seconds for each variant."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import plotly.graph_objects as go

from analysis.report.figures.style import LOAD_SCALE, RUN_SECONDS, blank_figure
from analysis.tables.broker_work import BrokerLoad

BROKERS_SHOWN = 40
"""Brokers in a map, the busiest of all variants; further rows would be too thin to read."""
_ROW_HEIGHT = 14


def busiest_share(loads: Sequence[BrokerLoad]) -> float:
    """The largest share in the run phase of any variant, for one scale of all maps; at least 1%."""
    return max((row.processor for row in loads if row.second >= 0), default=0.01) or 0.01


def busiest_brokers(loads: Sequence[BrokerLoad]) -> list[str]:
    """The brokers that all load maps show, in the same order: those with the greatest load in any variant first.

    Only the load in the run phase counts, and at most `BROKERS_SHOWN` brokers are returned.
    """
    totals: defaultdict[tuple[str, str], float] = defaultdict(float)
    for row in loads:
        if row.second >= 0:
            totals[row.broker, row.variant] += row.processor
    greatest: defaultdict[str, float] = defaultdict(float)
    for (broker, _), total in totals.items():
        greatest[broker] = max(greatest[broker], total)
    return sorted(greatest, key=lambda broker: (-greatest[broker], broker))[:BROKERS_SHOWN]


def load_figure(loads: Sequence[BrokerLoad], most: float, shown: Sequence[str]) -> go.Figure:
    """The load of the shown brokers of one variant in each second of the run phase, the first one on top.

    `most` is the share that takes the darkest colour. A second of which the log has no load of a broker is a hole.
    """
    shares: dict[str, dict[int, BrokerLoad]] = defaultdict(dict)
    for row in loads:
        if row.second >= 0:
            shares[row.broker][row.second] = row
    seconds = range(max((second for own in shares.values() for second in own), default=-1) + 1)
    cells = [[shares[broker].get(second) for second in seconds] for broker in shown]
    figure = blank_figure(height=120 + _ROW_HEIGHT * max(len(shown), 4))
    figure.add_heatmap(
        x=list(seconds),
        y=list(shown),
        z=[[None if cell is None else 100 * cell.processor for cell in row] for row in cells],
        customdata=[[_memory(cell) for cell in row] for row in cells],
        zmin=0,
        zmax=100 * most,
        colorscale=[[share, code] for share, code in LOAD_SCALE],
        colorbar={"title": "%", "thickness": 10},
        hovertemplate="%{y}, second %{x}: %{z:.1f}%%{customdata}<extra></extra>",
    )
    figure.update_xaxes(title=RUN_SECONDS)
    figure.update_yaxes(type="category", autorange="reversed", automargin=True)
    figure.update_layout(margin={"l": 12})
    return figure


def _memory(row: BrokerLoad | None) -> str:
    return "" if row is None or row.memory_bytes is None else f", {row.memory_bytes / 1e6:.0f} MB"
