"""The figures of a campaign's page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import plotly.graph_objects as go

from analysis.report.figures.style import blank_figure, colour
from analysis.tables.timeline import Fault
from studies.campaign.matrix import CampaignSummary, MatrixEntry
from studies.campaign.sentences import settings_label

_SPANS: Sequence[tuple[str, Callable[[Fault], float | None]]] = (
    ("before", lambda fault: fault.delay_before_ms),
    ("during", lambda fault: fault.delay_during_ms),
    ("after", lambda fault: fault.delay_after_ms),
)


def recovery_figure(summary: CampaignSummary) -> go.Figure:
    """Every fault's recovery time: one point a fault, one column a schedule, one colour a combination of factors."""
    figure = blank_figure()
    for index, group in enumerate(groups(summary.matrix)):
        faults = [
            (entry.schedule, seed, fault)
            for entry in group
            for seed, fault in faults_of(summary, entry)
            if fault.recovered_s is not None
        ]
        figure.add_trace(
            go.Box(
                name=settings_label(group[0].factors, group[0].variant),
                x=[schedule for schedule, _, _ in faults],
                y=[fault.recovered_s for _, _, fault in faults],
                customdata=[[seed, fault.kind, ", ".join(fault.what)] for _, seed, fault in faults],
                hovertemplate="%{y:.2f} s<br>seed %{customdata[0]}: %{customdata[1]} %{customdata[2]}<extra></extra>",
                boxpoints="all",
                pointpos=0,
                jitter=0.4,
                marker={"color": colour(index), "size": 6},
                line={"color": colour(index), "width": 1},
                fillcolor="rgba(0,0,0,0)",
            )
        )
    figure.update_xaxes(title="fault schedule", type="category")
    figure.update_yaxes(title="recovery after the heal, s", rangemode="tozero")
    figure.update_layout(boxmode="group", showlegend=len(groups(summary.matrix)) > 1)
    return figure


def delay_figure(summary: CampaignSummary) -> go.Figure:
    """The mean delay before, during and after faults; one group of bars a combination of factors and schedule."""
    figure = blank_figure()
    entries = [entry for entry in summary.matrix if entry.faults]
    names = [f"{settings_label(entry.factors, entry.variant)}<br>{entry.schedule}" for entry in entries]
    for index, (span, delay_of) in enumerate(_SPANS):
        values = [
            [delay for _, fault in faults_of(summary, entry) if (delay := delay_of(fault)) is not None]
            for entry in entries
        ]
        figure.add_trace(
            go.Bar(
                name=span,
                x=names,
                y=[sum(value) / len(value) if value else None for value in values],
                marker={"color": colour(index)},
                hovertemplate=f"{span}: %{{y:.1f}} ms<extra></extra>",
            )
        )
    figure.update_xaxes(type="category")
    figure.update_yaxes(title="mean delay, ms", rangemode="tozero")
    figure.update_layout(barmode="group", bargap=0.25)
    return figure


def groups(matrix: Sequence[MatrixEntry]) -> list[list[MatrixEntry]]:
    """The entries with the same factors and variant, which are the rows of the matrix."""
    found: dict[str, list[MatrixEntry]] = {}
    for entry in matrix:
        found.setdefault(settings_label(entry.factors, entry.variant), []).append(entry)
    return list(found.values())


def faults_of(summary: CampaignSummary, entry: MatrixEntry) -> Iterator[tuple[int, Fault]]:
    """The faults behind an entry, each with its cell's seed."""
    for line in summary.cells:
        result = line.result
        if (result.factors, result.schedule) == (entry.factors, entry.schedule):
            for variant in result.variants:
                if variant.name == entry.variant:
                    yield from ((result.seed, fault) for fault in variant.faults)
