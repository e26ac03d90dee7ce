"""The section on overlays that change: connectivity and degrees over time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import plotly.graph_objects as go
from plotly.colors import sample_colorscale

from analysis.report.figures.shares import share_over_time_figure
from analysis.report.figures.style import RUN_SECONDS, blank_figure
from analysis.tables.motion import Connectivity, DegreeOverTime
from record.wording import count_of


def connectivity_figure(connectivity: Sequence[Connectivity], variants: Sequence[str]) -> go.Figure:
    """The share of pairs of brokers with a path between them, by second; one line for each variant that changed."""
    return share_over_time_figure(
        connectivity,
        variants,
        title="connected pairs",
        share=lambda row: row.pairs,
        details=lambda row: (row.connected, row.links, row.appeared, row.vanished),
        hovertemplate="%{y:.1%} of pairs, in one part for %{customdata[0]:.1%} of the second; %{customdata[1]} "
        "links, %{customdata[2]} appeared, %{customdata[3]} vanished",
    )


def degree_figure(degrees: Sequence[DegreeOverTime]) -> go.Figure:
    """The brokers of one variant by their number of links, second by second, stacked."""
    brokers: dict[int, dict[int, int]] = defaultdict(dict)
    for row in degrees:
        brokers[row.degree][row.second] = row.brokers
    seconds = sorted({row.second for row in degrees})
    colours = sample_colorscale("Viridis", [(number + 0.5) / len(brokers) for number in range(len(brokers))])
    figure = blank_figure()
    for degree, code in zip(sorted(brokers), colours, strict=True):
        figure.add_scatter(
            x=seconds,
            y=[brokers[degree].get(second, 0) for second in seconds],
            name=f"{count_of(degree, 'link')}",
            mode="lines",
            stackgroup="degrees",
            line={"width": 0.5, "color": code},
            hovertemplate="%{y} brokers",
        )
    figure.update_xaxes(title=RUN_SECONDS)
    figure.update_yaxes(title="brokers")
    figure.update_layout(hovermode="x unified")
    return figure
