"""The delivery ratio of best-effort protocols over time."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from analysis.report.figures import share_over_time_figure
from analysis.tables.deliveries import DeliveryOverTime


def delivery_ratio_figure(delivery: Sequence[DeliveryOverTime], variants: Sequence[str]) -> go.Figure:
    """The share of due notifications that came, by the second in which publications were made."""
    return share_over_time_figure(
        delivery,
        variants,
        title="delivery ratio",
        share=lambda row: row.ratio,
        details=lambda row: row.due,
        hovertemplate="%{y:.1%} of %{customdata} due notifications",
    )
