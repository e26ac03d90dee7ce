"""The simulated twin beside the run on real brokers: distributions of the delay, parts of its mean, and numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from analysis.compare import RunComparison
from analysis.compare.model import VariantComparison
from analysis.compare.sentences.rows import ComparedRow, count_row, delay_rows, delivery_rows
from analysis.compare.sentences.runs import difference_in_words, sides_of
from analysis.report.figures.delay_budget import PARTS_SHOWN
from analysis.report.figures.delays import add_distribution, label_distributions
from analysis.report.figures.style import blank_figure, colour
from analysis.tables.delays import DelayDistribution

_REAL, _TWIN = "real", "twin"


@dataclass(frozen=True, slots=True)
class TwinRow:
    """One variant."""

    variant: str
    sentences: list[str]
    figures: list[ComparedRow]
    """Delays, milliseconds, messages in all, and deliveries."""
    kinds: list[ComparedRow]
    """Messages by kind."""


def twin_rows(comparison: RunComparison) -> list[TwinRow]:
    """A row for each variant of both."""
    sides = sides_of(comparison)
    return [
        TwinRow(
            variant.name,
            list(difference_in_words(variant, sides)),
            list(_figures(variant)),
            [] if variant.messages is None else list(map(count_row, variant.messages.kinds)),
        )
        for variant in comparison.variants
    ]


def twin_plots(
    comparison: RunComparison, real: Sequence[DelayDistribution], twin: Sequence[DelayDistribution]
) -> list[tuple[str, go.Figure]]:
    """Heading and figure: the distributions of the delay, and the parts of its mean where they are known."""
    names = [variant.name for variant in comparison.variants]
    plots = [("Delays of both", _distributions(names, real, twin))]
    if any(variant.mean is not None for variant in comparison.variants):
        plots.append(("Parts of both mean delays", _parts(comparison.variants)))
    return plots


def _distributions(
    names: Sequence[str], real: Sequence[DelayDistribution], twin: Sequence[DelayDistribution]
) -> go.Figure:
    figure = blank_figure()
    for index, name in enumerate(names):
        for rows, label, dash in ((real, _REAL, "solid"), (twin, _TWIN, "dot")):
            own = [row for row in rows if row.variant == name]
            add_distribution(figure, own, f"{name}, {label}", {"color": colour(index), "width": 2, "dash": dash})
    label_distributions(figure, [*real, *twin])
    return figure


def _parts(variants: Sequence[VariantComparison]) -> go.Figure:
    figure = blank_figure()
    known = [(variant.name, variant.mean.parts) for variant in variants if variant.mean is not None]
    x = [[name for name, _ in known for _ in range(2)], [_TWIN, _REAL] * len(known)]
    for name, _, fill in PARTS_SHOWN:
        figure.add_bar(
            x=x,
            y=[
                value
                for _, parts in known
                for part in parts
                if part.name == name
                for value in (part.first, part.second)
            ],
            name=name,
            marker={"color": fill, "line": {"width": 0}},
            hovertemplate=f"{name} %{{y:.2f}} ms<extra></extra>",
        )
    figure.update_layout(barmode="relative")
    figure.update_yaxes(title="mean delay, ms")
    return figure


def _figures(variant: VariantComparison) -> Iterator[ComparedRow]:
    if variant.delay is not None:
        yield from delay_rows(variant.delay)
    if variant.messages is not None:
        yield count_row(variant.messages.total, "messages received")
    yield from delivery_rows(variant.delivery)
