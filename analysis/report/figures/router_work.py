"""The section on router work: matching delay and path-selection time of publications."""

from __future__ import annotations

import math
from collections.abc import Sequence

import plotly.graph_objects as go

from analysis.report.figures.style import blank_figure, colour, log_axis, symbol
from analysis.tables.broker_work import WorkFigures, WorkKind
from analysis.tables.summary import VariantSummary

HEADINGS = {WorkKind.MATCHING: "Matching delay", WorkKind.PATH_SELECTION: "Path-selection time"}
_ROW_HEIGHT = 36
_MARGIN = 0.1
"""Decades of the axis beside the least and the greatest value."""
_DECADES = 2
"""Decades beyond which an axis is labelled at whole ones, because two figures are beside each other."""


def work_of(variant: VariantSummary, work: WorkKind) -> WorkFigures | None:
    """The variant's figures for one kind of work; None where no time was measured."""
    return next((figures for figures in variant.router_work if figures.work == work), None)


def work_figure(variants: Sequence[VariantSummary], work: WorkKind) -> go.Figure:
    """One row a variant: thick from the median to the 95th percentile, thin to the 99th, a mark at the mean.

    The axes of all kinds of work are equal, so that they can be compared.
    """
    figure = blank_figure(height=90 + _ROW_HEIGHT * len(variants))
    for index, variant in enumerate(variants):
        found = work_of(variant, work)
        if found is None:
            continue
        for reach, width in ((found.p99_us, 2), (found.p95_us, 8)):
            figure.add_scatter(
                x=[found.p50_us, reach],
                y=[variant.name, variant.name],
                mode="lines",
                line={"color": colour(index), "width": width},
                hoverinfo="skip",
            )
        figure.add_scatter(
            x=[found.mean_us],
            y=[variant.name],
            mode="markers",
            marker={
                "color": colour(index), "size": 13, "symbol": symbol(index), "line": {"width": 1.5, "color": "#ffffff"},
            },
            hovertemplate=(
                f"mean {found.mean_us:,.1f} µs, median {found.p50_us:,.1f}, 95% within {found.p95_us:,.1f}, "
                f"99% within {found.p99_us:,.1f}<extra></extra>"
            ),
        )  # fmt: skip
    ends = [end for variant in variants for row in variant.router_work for end in (row.p50_us, row.mean_us, row.p99_us)]
    shown = _range(ends)
    figure.update_xaxes(**log_axis("microseconds (log)", ends), range=shown)
    if shown is not None and shown[1] - shown[0] > _DECADES:
        figure.update_xaxes(dtick=1)
    names = [variant.name for variant in reversed(variants)]
    figure.update_yaxes(categoryorder="array", categoryarray=names, automargin=True)
    figure.update_layout(showlegend=False, hovermode="closest", margin={"l": 12})
    return figure


def _range(ends: Sequence[float]) -> tuple[float, float] | None:
    """The range of a logarithmic axis that has room for all of these; None where there are none above zero."""
    logarithms = [math.log10(end) for end in ends if end > 0]
    return (min(logarithms) - _MARGIN, max(logarithms) + _MARGIN) if logarithms else None
