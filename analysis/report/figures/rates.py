"""The figure of the traffic of clients: publications made and notifications delivered a second."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from analysis.report.figures.style import RUN_SECONDS, blank_figure, colour, line_mode, symbol
from analysis.trace import Rate


def client_rates_figure(rates: Sequence[Rate], variants: Sequence[str]) -> go.Figure:
    """Publications made (dotted) and notifications delivered (line) in each second from the start of the run phase."""
    figure = blank_figure()
    for index, variant in enumerate(variants):
        found = {rate.second: rate for rate in rates if rate.variant == variant and rate.second >= 0}
        seconds = list(range(max(found, default=-1) + 1))
        for name, dashed, counts in (
            ("delivered", "solid", [found[second].notified if second in found else 0 for second in seconds]),
            ("published", "dot", [found[second].published if second in found else 0 for second in seconds]),
        ):
            figure.add_scatter(
                x=seconds,
                y=counts,
                mode=line_mode(len(seconds)),
                name=f"{variant}, {name}" if len(variants) > 1 else name,
                legendgroup=variant,
                line={"color": colour(index), "width": 2, "dash": dashed},
                marker={"symbol": symbol(index), "size": 6},
                hovertemplate="%{y:,} a second",
            )
    figure.update_xaxes(title=RUN_SECONDS)
    figure.update_yaxes(title="a second", rangemode="tozero")
    figure.update_layout(hovermode="x unified")
    return figure
