"""The section on the buffers of routers: sizes over time, and the time at the horizon."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import plotly.graph_objects as go

from analysis.report.figures.style import RUN_SECONDS, blank_figure, colour, dash, line_mode, symbol
from analysis.tables.buffers import BufferSize
from record.wording import count_of


def buffers_figure(rows: Sequence[BufferSize]) -> go.Figure:
    """The size of the fullest buffer of each name at any broker of one variant, in each second of the run phase."""
    figure = blank_figure()
    fullest: dict[str, dict[int, BufferSize]] = defaultdict(dict)
    for row in rows:
        present = fullest[row.buffer].get(row.second)
        if row.second >= 0 and (present is None or row.bytes > present.bytes):
            fullest[row.buffer][row.second] = row
    seconds = range(max((second for found in fullest.values() for second in found), default=-1) + 1)
    for index, (buffer, found) in enumerate(sorted(fullest.items())):
        figure.add_scatter(
            x=list(seconds),
            y=[found[second].bytes / 1e3 if second in found else 0.0 for second in seconds],
            mode=line_mode(len(seconds)),
            name=buffer,
            line={"color": colour(index), "width": 2, "dash": dash(index)},
            marker={"symbol": symbol(index), "size": 7},
            customdata=[_in_words(found.get(second)) for second in seconds],
            hovertemplate="%{y:,.1f} kB%{customdata}",
        )
    figure.update_xaxes(title=RUN_SECONDS)
    figure.update_yaxes(title="fullest buffer, kB", rangemode="tozero")
    figure.update_layout(hovermode="x unified")
    return figure


def horizon_figure(rows: Sequence[BufferSize], variants: Sequence[str]) -> go.Figure:
    """The mean time of publications at the horizon over all brokers, in each second of the run phase."""
    figure = blank_figure()
    for index, variant in enumerate(variants):
        sums: dict[int, tuple[int, float]] = {}
        for row in rows:
            if row.variant == variant and row.second >= 0 and row.mean_wait_ms is not None:
                notified, waited = sums.get(row.second, (0, 0.0))
                sums[row.second] = notified + row.notified, waited + row.notified * row.mean_wait_ms
        if not sums:
            continue
        figure.add_scatter(
            x=sorted(sums),
            y=[sums[second][1] / sums[second][0] for second in sorted(sums)],
            mode=line_mode(len(sums)),
            name=variant,
            line={"color": colour(index), "width": 2, "dash": dash(index)},
            marker={"symbol": symbol(index), "size": 7},
            customdata=[sums[second][0] for second in sorted(sums)],
            hovertemplate="%{y:.2f} ms, %{customdata:,} publications",
        )
    figure.update_xaxes(title=RUN_SECONDS)
    figure.update_yaxes(title="mean time at the horizon, ms", rangemode="tozero")
    figure.update_layout(hovermode="x unified")
    return figure


def _in_words(row: BufferSize | None) -> str:
    return "" if row is None else f" at {row.broker}, {count_of(row.publications, 'publication')}"
