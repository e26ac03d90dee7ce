"""Figures of a run's course, the most telling one first: recovery from a burst, delivery ratio, delay over time."""

from __future__ import annotations

from dataclasses import dataclass

import plotly.graph_objects as go

from analysis.report.data import ReportData
from analysis.report.figures.burst_recovery import recovery_figure
from analysis.report.figures.delays import SPREAD_OF_VARIANTS_AT_MOST, delay_over_time_figure
from analysis.report.figures.delivery_ratio import delivery_ratio_figure
from analysis.report.figures.faults import shade_faults

_SHADED = " Shaded: from a fault until it was healed."


@dataclass(frozen=True)
class Course:
    """One of these figures, with its words."""

    name: str
    """The id of its section."""
    heading: str
    note: str
    """Description of lines, marks and shades."""
    figure: go.Figure


def courses_of(data: ReportData) -> list[Course]:
    """The figures that a run has data for; at least the delay over time."""
    courses = [_recovery(data)] if data.burst_recoveries else []
    if data.delivery:
        courses.append(_delivery_ratio(data))
    return [*courses, _delays(data)]


def _recovery(data: ReportData) -> Course:
    notifications = data.burst_recoveries[0].notifications
    note = (
        f"The largest delay of successive notifications ({notifications:,} for each point), by the time of their "
        "arrival. The burst is shaded. A mark shows where a variant is stable again: from there on, no point is higher "
        "than twice the highest point before the burst."
    )
    return Course("recovery", "Recovery from the burst", note, recovery_figure(data.burst_recoveries, data.variants))


def _delivery_ratio(data: ReportData) -> Course:
    figure = delivery_ratio_figure(data.delivery, data.variants)
    note = "Share of the due notifications that came, of the publications made in each second of the run."
    return Course("delivery-ratio", "Delivery ratio over time", note + _with_faults(figure, data), figure)


def _delays(data: ReportData) -> Course:
    figure = delay_over_time_figure(data.delays, data.phases, data.variants)
    spread = " (dotted: the 95th percentile)" if len(data.variants) <= SPREAD_OF_VARIANTS_AT_MOST else ""
    note = f"Median delay{spread} of the publications that were due in each second; the dashed line ends the run."
    return Course("delays", "Delay over time", note + _with_faults(figure, data), figure)


def _with_faults(figure: go.Figure, data: ReportData) -> str:
    """Shades the faults in a figure. Returns the words for that; empty without faults."""
    shade_faults(figure, data.faults, data.run_starts, max((row.end_s for row in data.phases), default=0.0))
    return _SHADED if data.faults else ""
