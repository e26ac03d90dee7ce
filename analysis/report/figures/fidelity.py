"""Plots of the emulation's fidelity: the delay of each link, and the load of the host over time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import plotly.graph_objects as go

from analysis.report.figures.style import RUN_SECONDS, blank_figure, colour
from record.fidelity import LinkCheck, Sample, VariantFidelity

BEFORE, DURING = "before", "during"
_SHARES: tuple[tuple[str, str, Callable[[Sample], float | None]], ...] = (
    ("CPU busy", "solid", lambda sample: sample.cpu_busy),
    ("CPU pressure", "dot", lambda sample: sample.cpu_pressure),
    ("relay held up", "dash", lambda sample: sample.relay_held_up),
)
_WAITS: tuple[tuple[str, str, Callable[[Sample], float | None]], ...] = (
    ("event loop lag", "solid", lambda sample: sample.loop_lag),
    ("publications late", "dot", lambda sample: sample.workload_lateness),
    ("relay late, p99", "dash", lambda sample: sample.relay_lateness),
)


def link_delay_figure(fidelity: Mapping[str, VariantFidelity], variants: Sequence[str]) -> go.Figure:
    """Delay of every probed link direction: requested, measured before the load, and under load by each probe."""
    figure = blank_figure()
    for index, variant in enumerate(variants):
        probes = _probes(fidelity, variant)
        asked = {_ends(probe): probe.delay_asked for probe in probes}
        figure.add_scatter(
            x=list(asked),
            y=[delay * 1e3 for delay in asked.values()],
            mode="markers",
            name=f"{variant}, requested",
            marker={"symbol": "line-ew", "size": 14, "line": {"width": 2, "color": colour(index)}},
            hovertemplate="%{x}: %{y:.2f} ms requested",
        )
        for phase, symbol in ((BEFORE, "circle-open"), (DURING, "x-thin-open")):
            shown = [probe for probe in probes if probe.phase == phase and probe.delay_measured is not None]
            figure.add_scatter(
                x=[_ends(probe) for probe in shown],
                y=[1e3 * (probe.delay_measured or 0.0) for probe in shown],
                mode="markers",
                name=f"{variant}, {phase} load",
                marker={"symbol": symbol, "size": 9, "color": colour(index), "line": {"width": 1.5}},
                customdata=["" if probe.ok else f", {probe.detail}" for probe in shown],
                hovertemplate="%{x}: %{y:.2f} ms measured " + phase + " load%{customdata}",
            )
    figure.update_xaxes(title="link, in one direction", type="category")
    figure.update_yaxes(title="one-way delay, ms", rangemode="tozero")
    return figure


def link_error_figure(fidelity: Mapping[str, VariantFidelity], variants: Sequence[str]) -> go.Figure:
    """Error of the delay that each probe measured under load: measured minus requested."""
    figure = blank_figure()
    for index, variant in enumerate(variants):
        shown = [
            probe
            for probe in _probes(fidelity, variant)
            if probe.phase == DURING and probe.delay_measured is not None and probe.second is not None
        ]
        figure.add_scatter(
            x=[probe.second for probe in shown],
            y=[1e3 * ((probe.delay_measured or 0.0) - probe.delay_asked) for probe in shown],
            mode="markers",
            name=variant,
            marker={
                "size": 8,
                "color": colour(index),
                "symbol": ["circle-open" if probe.ok else "x" for probe in shown],
            },
            customdata=[_ends(probe) for probe in shown],
            hovertemplate="%{customdata}: %{y:+.2f} ms",
        )
    figure.update_xaxes(title=RUN_SECONDS)
    figure.update_yaxes(title="measured minus requested, ms")
    return figure


def host_figure(fidelity: Mapping[str, VariantFidelity], variants: Sequence[str]) -> go.Figure:
    """CPU use, CPU pressure, and the share of time for which the relay was held up."""
    figure = _over_time(fidelity, variants, _SHARES, factor=100, unit="%")
    figure.update_yaxes(title="share of the time, %", range=[0, 101])
    return figure


def waits_figure(fidelity: Mapping[str, VariantFidelity], variants: Sequence[str]) -> go.Figure:
    """Lateness of event loops, publications and the relay."""
    figure = _over_time(fidelity, variants, _WAITS, factor=1e3, unit=" ms")
    figure.update_yaxes(title="late by, ms", rangemode="tozero")
    return figure


def _over_time(
    fidelity: Mapping[str, VariantFidelity],
    variants: Sequence[str],
    lines: Sequence[tuple[str, str, Callable[[Sample], float | None]]],
    *,
    factor: float,
    unit: str,
) -> go.Figure:
    figure = blank_figure()
    for index, variant in enumerate(variants):
        found = fidelity.get(variant)
        samples = [] if found is None else found.samples
        for label, dash, value_of in lines:
            values = [(sample.end, value) for sample in samples if (value := value_of(sample)) is not None]
            if not values:
                continue
            figure.add_scatter(
                x=[end for end, _ in values],
                y=[value * factor for _, value in values],
                mode="lines",
                name=f"{variant}, {label}",
                legendgroup=variant,
                line={"color": colour(index), "dash": dash, "width": 2 if dash == "solid" else 1.5},
                hovertemplate="%{y:.2f}" + unit,
            )
    figure.update_xaxes(title=RUN_SECONDS)
    figure.update_layout(hovermode="x unified")
    return figure


def _probes(fidelity: Mapping[str, VariantFidelity], variant: str) -> list[LinkCheck]:
    found = fidelity.get(variant)
    return [] if found is None else found.links


def _ends(probe: LinkCheck) -> str:
    return f"{probe.a} → {probe.b}"
