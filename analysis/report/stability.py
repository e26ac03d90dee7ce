"""The section on stability: how long a burst is felt, by the largest delays of successive notifications.

Shown for scenarios in which a publisher bursts (`workload.publications.individually.*.bursts`). Its burst is the
shortest time in which it made as many publications as its bursts have: so what it publishes besides does not count.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pyarrow as pa
import pyarrow.compute as pc

from analysis.judging.burst_recovery import largest_delays, normal_up_to, stable_after
from analysis.report.figures import blank_figure, colour, dash, log_axis, symbol
from analysis.run_files.time_units import SECOND
from analysis.tables.definitions import Notification, PhaseTimes
from analysis.tables.results import read_columns
from record.manifest import PhaseName

POINTS = 250
"""About so many for each variant,"""
LARGEST_STRETCH = 5000
"""but at least one for so many notifications, as the paper has it."""
SMALLEST_STRETCH = 20

_COLUMNS = ("publisher", "repeat", "intended_ns", "notified_ns", "delay_ms")
_BURST_SHADE = "rgba(128,128,128,0.22)"


@dataclass(frozen=True, slots=True)
class Stability:
    """One variant. Times are seconds since the begin of the run phase."""

    variant: str
    notifications: int
    """For each point."""
    seconds: Sequence[float]
    """Of each point."""
    largest_ms: Sequence[float]
    begin: float
    """Of the burst."""
    end: float
    """Of the burst: when its last publication was due."""
    normal_ms: float | None
    """Up to which a largest delay is normal; None where nothing came before the burst."""
    stable_after: float | None
    """Seconds from the begin of the burst; None where it is not known, or where it never was stable."""

    @property
    def peak_ms(self) -> float:
        return max(self.largest_ms)


def burst_sizes(scenario: Mapping[str, Any]) -> dict[str, int]:
    """Who bursts in a resolved scenario, and how many publications that is."""
    publications = (scenario.get("workload") or {}).get("publications") or {}
    own = {name: one.get("bursts") or () for name, one in (publications.get("individually") or {}).items()}
    return {name: sum(burst["publications"] for burst in bursts) for name, bursts in own.items() if bursts}


def read_stability(
    results: Path, scenario: Mapping[str, Any], variants: Sequence[str], phases: Sequence[PhaseTimes]
) -> list[Stability]:
    """Of each variant that has notifications of a burst, in the order of `variants`; nothing where nobody bursts."""
    sizes = burst_sizes(scenario)
    if not sizes:
        return []
    starts = {phase.variant: phase.start_ns for phase in phases if phase.phase == PhaseName.RUN}
    found: dict[str, Stability] = {}
    for variant, batches in read_columns(results, Notification, _COLUMNS):
        one = read_variant(variant, batches, sizes, starts[variant]) if variant in starts else None
        if one is not None:
            found[variant] = one
    return [found[variant] for variant in variants if variant in found]


def read_variant(
    variant: str, batches: Iterable[pa.RecordBatch], sizes: Mapping[str, int], run: int
) -> Stability | None:
    """Of a variant's notifications, and whose bursts were how large; `run` is the begin of its run phase.

    None where nothing of a burst was delivered. Sixteen bytes of each notification are held.
    """
    came, delays = [np.empty(0, np.int64)], [np.empty(0, np.float64)]
    intended = {publisher: np.empty(0, np.int64) for publisher in sizes}
    for batch in batches:
        first = batch.filter(pc.and_(pc.equal(batch["repeat"], 0), pc.is_valid(batch["delay_ms"])))
        came.append(first["notified_ns"].to_numpy())
        delays.append(first["delay_ms"].to_numpy())
        for publisher, known in intended.items():
            own = first.filter(pc.equal(first["publisher"], publisher))["intended_ns"].to_numpy()
            intended[publisher] = np.union1d(known, own)
    bursts = [_densest(times, sizes[publisher]) for publisher, times in intended.items() if len(times)]
    if not bursts:
        return None
    begin, end = min(low for low, _ in bursts), max(high for _, high in bursts)
    notified = np.concatenate(came)
    length = min(max(len(notified) // POINTS, SMALLEST_STRETCH), LARGEST_STRETCH)
    points = largest_delays(notified, np.concatenate(delays), length)
    normal, after = normal_up_to(points, begin), stable_after(points, begin)
    never = normal is not None and points[-1].largest > normal
    return Stability(
        variant=variant,
        notifications=length,
        seconds=[(point.came - run) / SECOND for point in points],
        largest_ms=[point.largest for point in points],
        begin=(begin - run) / SECOND,
        end=(end - run) / SECOND,
        normal_ms=normal,
        stable_after=None if after is None or never else after / SECOND,
    )


def _densest(times: np.ndarray[Any, np.dtype[np.int64]], size: int) -> tuple[int, int]:
    """The shortest stretch with so many of the times, which are sorted; all of them where there are fewer."""
    spans = times[size - 1 :] - times[: len(times) - size + 1] if len(times) > size else np.zeros(1)
    first = int(np.argmin(spans))
    return int(times[first]), int(times[min(first + size, len(times)) - 1])


def ranked(found: Sequence[Stability]) -> list[Stability]:
    """The first that is stable again first; those that are not, or of which it is not known, last."""
    return sorted(found, key=lambda one: float("inf") if one.stable_after is None else one.stable_after)


def stability_sentence(found: Sequence[Stability]) -> str:
    """Which variant is stable again first, and by how much; empty where none is, or nobody knows."""
    stable = [(one.variant, one.stable_after) for one in ranked(found) if one.stable_after is not None]
    if not stable:
        return ""
    (first, after), *others = stable
    if not others:
        return f"{first} is stable again {after:.2f} s after the burst began."
    later = ", ".join(f"{variant} {seconds - after:.2f} s later" for variant, seconds in others)
    return f"{first} is stable again first, {after:.2f} s after the burst began; {later}."


def stability_figure(found: Sequence[Stability], variants: Sequence[str]) -> go.Figure:
    """The largest delay of each stretch, by the time at which it ended; a mark where a variant is stable again."""
    figure = blank_figure(height=440)
    for one in found:
        index = variants.index(one.variant)
        figure.add_scatter(
            x=one.seconds,
            y=one.largest_ms,
            mode="lines",
            name=one.variant,
            legendgroup=one.variant,
            line={"color": colour(index), "width": 2, "dash": dash(index)},
            hovertemplate=f"%{{y:.0f}} ms at most, of {one.notifications} notifications",
        )
        if one.stable_after is not None:
            figure.add_scatter(
                x=[one.begin + one.stable_after],
                y=[one.normal_ms],
                mode="markers",
                name=f"{one.variant}, stable again",
                legendgroup=one.variant,
                marker={
                    "color": colour(index), "size": 13, "symbol": symbol(index),
                    "line": {"width": 1, "color": "#ffffff"},
                },
                hovertemplate=f"{one.stable_after:.2f} s after the burst began",
            )  # fmt: skip
    if found:
        figure.add_vrect(
            x0=min(one.begin for one in found),
            x1=max(one.end for one in found),
            fillcolor=_BURST_SHADE,
            line_width=0,
            layer="below",
            annotation={"text": "burst", "textangle": -90, "font": {"size": 11}, "xanchor": "left"},
            annotation_position="top left",
        )
    figure.update_xaxes(title="seconds since the start of the run phase")
    figure.update_yaxes(**log_axis("largest delay, ms (log)", (ms for one in found for ms in one.largest_ms)))
    figure.update_layout(hovermode="x unified")
    return figure
