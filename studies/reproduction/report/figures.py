"""The figures of a reproduction's page: a paper's figure over all seeds, and the interval of one number."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean
from xml.etree.ElementTree import Element, SubElement, tostring

import plotly.graph_objects as go

from analysis.claims import JudgedPart
from analysis.claims.figures import DrawnFigure, PublishedCurve
from analysis.claims.quantities import Curve
from analysis.report.figures.style import MARKED_POINTS_AT_MOST, blank_figure, colour, dash, log_axis, symbol

HEIGHT = 300
_LOGARITHMIC_FROM = 30.0
"""Quotient of the greatest and the smallest value from which on an axis is logarithmic."""
_MOST_LEGENDS = 16
_WIDTH, _TALL, _MARGIN = 140, 22, 8

Values = dict[float | str, list[float]]


def paper_figure(seeds: Sequence[DrawnFigure], published: Sequence[PublishedCurve] = ()) -> go.Figure:
    """One figure from the runs of several seeds: means, with a bar from the least to the greatest seed.

    Numbers that the paper prints are hollow marks in the colour of the curve that they belong to.
    """
    by_curve: dict[str, list[Curve]] = defaultdict(list)
    for drawn in seeds:
        for curve in drawn.curves:
            by_curve[curve.name].append(curve)
    figure = blank_figure(HEIGHT)
    shown: list[float] = []
    for index, (name, curves) in enumerate(by_curve.items()):
        values = _by_x(curves)
        shown += [value for found in values.values() for value in found]
        if any(isinstance(x, str) for x in values):
            figure.add_bar(x=list(map(str, values)), name=name, marker={"color": colour(index)}, **_means(values))
        else:
            marked = "lines+markers" if len(values) <= MARKED_POINTS_AT_MOST else "lines"
            figure.add_scatter(
                x=list(values),
                name=name,
                mode=marked,
                marker={"symbol": symbol(index), "size": 7},
                line={"color": colour(index), "dash": dash(index), "width": 2},
                **_means(values),
            )
    for printed in published:
        index = list(by_curve).index(printed.curve) if printed.curve in by_curve else len(by_curve)
        figure.add_scatter(**_printed(printed, index))
        shown += printed.y
    places = [x for curves in by_curve.values() for curve in curves for x in curve.x]
    numbers = [x for x in (*places, *(x for printed in published for x in printed.x)) if not isinstance(x, str)]
    figure.update_xaxes(**(log_axis(seeds[0].x_title, numbers) if _is_wide(numbers) else {"title": seeds[0].x_title}))
    figure.update_yaxes(
        **(log_axis(seeds[0].y_title, shown) if _is_wide(shown) else {"title": seeds[0].y_title, "rangemode": "tozero"})
    )
    traces = len(by_curve) + len(published)
    figure.update_layout(showlegend=1 < traces <= _MOST_LEGENDS)
    return figure


def _printed(published: PublishedCurve, index: int) -> Mapping[str, object]:
    """The trace of published numbers beside the curve at an index."""
    return {
        "x": list(published.x),
        "y": list(published.y),
        "name": f"{published.curve}, published".removeprefix(", "),
        "hovertemplate": f"%{{y}} at %{{x}}, {published.source} of the paper<extra></extra>",
        "mode": "lines+markers" if len(published.x) > 1 else "markers",
        "marker": {"symbol": "diamond-open", "size": 10, "color": colour(index), "line": {"width": 2}},
        "line": {"color": colour(index), "dash": "dot", "width": 1},
    }


def _is_wide(values: Sequence[float]) -> bool:
    """True for values that need a logarithmic axis, and can have one."""
    return bool(values) and min(values) > 0 and max(values) > _LOGARITHMIC_FROM * min(values)


def interval_drawing(part: JudgedPart) -> str:
    """The measured interval (a bar with a dot at the mean) beside the published number (a diamond), as SVG text.

    Empty where nothing was measured. The mark of a statement is a line at 0, above which it holds.
    """
    measured, reference = part.measured, part.published or 0.0
    if measured is None:
        return ""
    low, high = measured.low, measured.high
    values = [reference, measured.mean, *(value for value in (low, high) if value is not None)]
    least, most = min(values), max(values)
    span = (most - least) or abs(most) or 1.0
    middle = _TALL / 2

    def place(value: float) -> float:
        return _MARGIN + (value - (least + most) / 2 + span / 2) / span * (_WIDTH - 2 * _MARGIN)

    svg = Element("svg", {"class": "interval", "viewBox": f"0 0 {_WIDTH} {_TALL}", "aria-hidden": "true"})
    if low is not None and high is not None:
        ends = {"x1": f"{place(low):.1f}", "x2": f"{place(high):.1f}", "y1": f"{middle}", "y2": f"{middle}"}
        SubElement(svg, "line", {**ends, "class": "measured"})
    at = place(reference)
    if part.published is None:
        SubElement(
            svg, "line", {"x1": f"{at:.1f}", "x2": f"{at:.1f}", "y1": "2", "y2": f"{_TALL - 2}", "class": "zero"}
        )
    else:
        points = f"{at - 5:.1f},{middle} {at:.1f},{middle - 6} {at + 5:.1f},{middle} {at:.1f},{middle + 6}"
        SubElement(svg, "polygon", {"points": points, "class": "published"})
    SubElement(svg, "circle", {"cx": f"{place(measured.mean):.1f}", "cy": f"{middle}", "r": "4", "class": "measured"})
    return tostring(svg, encoding="unicode")


def _by_x(curves: Sequence[Curve]) -> Values:
    """Values of all seeds at each position, in the order of numbers, or of their first appearance."""
    values: Values = defaultdict(list)
    for curve in curves:
        for x, y in zip(curve.x, curve.y, strict=True):
            if y is not None:
                values[x].append(y)
    numbers: list[float | str] = [*sorted(x for x in values if not isinstance(x, str))]
    names = [x for x in values if isinstance(x, str)]
    return {x: values[x] for x in numbers + names}


def _means(values: Values) -> Mapping[str, object]:
    """The mean at each position, and bars from the least to the greatest seed unless they would hide the curve."""
    means = [fmean(found) for found in values.values()]
    if max(map(len, values.values()), default=1) == 1 or len(values) > MARKED_POINTS_AT_MOST:
        return {"y": means}
    above = [max(found) - mean for found, mean in zip(values.values(), means, strict=True)]
    below = [mean - min(found) for found, mean in zip(values.values(), means, strict=True)]
    return {"y": means, "error_y": {"array": above, "arrayminus": below, "thickness": 1, "width": 3}}
