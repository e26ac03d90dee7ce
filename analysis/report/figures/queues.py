"""The figure of the output queues of brokers over time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import plotly.graph_objects as go

from analysis.report.figures.style import RUN_SECONDS, blank_figure, colour, line_mode, symbol
from analysis.tables.traffic import QueueLength


def queue_figure(queues: Sequence[QueueLength], variants: Sequence[str]) -> go.Figure:
    """The longest output queue of the overlay in each second (line), and the sum of all queues (dotted).

    The figure begins with the run phase, because ten thousand joining clients fill queues that would dwarf the others.
    """
    figure = blank_figure()
    for index, variant in enumerate(variants):
        by_second: dict[int, list[QueueLength]] = defaultdict(list)
        for row in queues:
            if row.variant == variant and row.second >= 0:
                by_second[row.second].append(row)
        seconds = list(range(min(by_second), max(by_second) + 1)) if by_second else []
        longest = [max(by_second.get(second, []), key=lambda row: row.queue, default=None) for second in seconds]
        figure.add_scatter(
            x=seconds,
            y=[row.queue if row else 0 for row in longest],
            mode=line_mode(len(seconds)),
            name=f"{variant}, longest",
            legendgroup=variant,
            line={"color": colour(index), "width": 2},
            marker={"symbol": symbol(index), "size": 7},
            customdata=[f"{row.broker} → {row.neighbour}" if row and row.queue else "" for row in longest],
            hovertemplate="%{y} waiting %{customdata}",
        )
        figure.add_scatter(
            x=seconds,
            y=[sum(row.queue for row in by_second.get(second, [])) for second in seconds],
            mode="lines",
            name=f"{variant}, all queues",
            legendgroup=variant,
            line={"color": colour(index), "width": 1.5, "dash": "dot"},
            hovertemplate="%{y} waiting in all",
        )
    figure.update_xaxes(title=RUN_SECONDS)
    figure.update_yaxes(title="messages waiting", rangemode="tozero")
    figure.update_layout(hovermode="x unified")
    return figure
