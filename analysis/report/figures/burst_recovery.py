"""The section on recovery from a burst, judged by the largest delays of successive notifications.

Shown for scenarios in which a publisher bursts (`workload.publications.individually.*.bursts`). Its burst is the
shortest interval in which it made as many publications as its bursts have, so its other publications do not count.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pyarrow as pa
import pyarrow.compute as pc

from analysis.judging.deliveries.burst_recovery import largest_delays, normal_up_to, stable_after
from analysis.report.figures.style import RUN_SECONDS, blank_figure, colour, dash, log_axis, shade, symbol
from analysis.tables.deliveries import Notification
from analysis.tables.results import read_columns
from analysis.tables.timeline import PhaseTimes
from record.manifest import PhaseName
from record.time_units import SECOND

POINTS = 250
"""Approximate number of points of each variant's curve."""
MOST_NOTIFICATIONS = 5000
"""Largest number of notifications that share a point, as in the figures of the OctopiA paper (section 10)."""
FEWEST_NOTIFICATIONS = 20
"""Smallest number of notifications that share a point."""

_COLUMNS = ("publisher", "repeat", "intended_ns", "notified_ns", "delay_ms")


@dataclass(frozen=True, slots=True)
class BurstRecovery:
    """A variant's delays around a burst. Times are seconds since the start of the run phase."""

    variant: str
    notifications: int
    """Number of successive notifications that share a point."""
    seconds: Sequence[float]
    """Time of each point."""
    largest_ms: Sequence[float]
    """Largest delay of each point's notifications."""
    begin: float
    """Time at which the burst's first publication was due."""
    end: float
    """Time at which the burst's last publication was due."""
    normal_ms: float | None
    """Limit up to which a largest delay is normal; None where no notification arrived before the burst."""
    stable_after: float | None
    """Seconds from the start of the burst; None where that is unknown, or where delays stayed above normal."""

    @property
    def peak_ms(self) -> float:
        return max(self.largest_ms)


def burst_sizes(scenario: Mapping[str, Any]) -> dict[str, int]:
    """Number of publications in the bursts of a resolved scenario, by publisher; only publishers with bursts."""
    publications = (scenario.get("workload") or {}).get("publications") or {}
    publishers = publications.get("individually") or {}
    bursts = {name: settings.get("bursts") or () for name, settings in publishers.items()}
    return {name: sum(burst["publications"] for burst in own) for name, own in bursts.items() if own}


def read_burst_recoveries(
    results: Path, scenario: Mapping[str, Any], variants: Sequence[str], phases: Sequence[PhaseTimes]
) -> list[BurstRecovery]:
    """The recovery of each variant with notifications of a burst, in the order of `variants`; empty without bursts."""
    sizes = burst_sizes(scenario)
    if not sizes:
        return []
    starts = {phase.variant: phase.start_ns for phase in phases if phase.phase == PhaseName.RUN}
    found: dict[str, BurstRecovery] = {}
    for variant, batches in read_columns(results, Notification, _COLUMNS):
        recovery = burst_recovery(variant, batches, sizes, starts[variant]) if variant in starts else None
        if recovery is not None:
            found[variant] = recovery
    return [found[variant] for variant in variants if variant in found]


def burst_recovery(
    variant: str, batches: Iterable[pa.RecordBatch], sizes: Mapping[str, int], run_start: int
) -> BurstRecovery | None:
    """The recovery of one variant, from the columns `_COLUMNS` of its notifications.

    `sizes` are the publications in the bursts of each publisher, `run_start` is the start of the run phase in
    nanoseconds. None where no publication of a burst was delivered. Memory: sixteen bytes a notification.
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
    length = min(max(len(notified) // POINTS, FEWEST_NOTIFICATIONS), MOST_NOTIFICATIONS)
    points = largest_delays(notified, np.concatenate(delays), length)
    normal, after = normal_up_to(points, begin), stable_after(points, begin)
    never = normal is not None and points[-1].largest > normal
    return BurstRecovery(
        variant=variant,
        notifications=length,
        seconds=[(point.came - run_start) / SECOND for point in points],
        largest_ms=[point.largest for point in points],
        begin=(begin - run_start) / SECOND,
        end=(end - run_start) / SECOND,
        normal_ms=normal,
        stable_after=None if after is None or never else after / SECOND,
    )


def _densest(times: np.ndarray[Any, np.dtype[np.int64]], size: int) -> tuple[int, int]:
    """First and last of the `size` successive times that span the shortest interval; of all times if there are fewer.

    `times` are sorted.
    """
    spans = times[size - 1 :] - times[: len(times) - size + 1] if len(times) > size else np.zeros(1)
    first = int(np.argmin(spans))
    return int(times[first]), int(times[min(first + size, len(times)) - 1])


def ranked(found: Sequence[BurstRecovery]) -> list[BurstRecovery]:
    """Recoveries in ascending order of the time they took; those without a known time come last."""
    return sorted(found, key=lambda recovery: inf if recovery.stable_after is None else recovery.stable_after)


def recovery_sentence(found: Sequence[BurstRecovery]) -> str:
    """Sentence that names the variant that is stable again first, and its lead; empty where none is stable."""
    stable = [
        (recovery.variant, recovery.stable_after) for recovery in ranked(found) if recovery.stable_after is not None
    ]
    if not stable:
        return ""
    (first, after), *others = stable
    if not others:
        return f"{first} is stable again {after:.2f} s after the burst began."
    later = ", ".join(f"{variant} {seconds - after:.2f} s later" for variant, seconds in others)
    return f"{first} is stable again first, {after:.2f} s after the burst began; {later}."


def recovery_figure(found: Sequence[BurstRecovery], variants: Sequence[str]) -> go.Figure:
    """Largest delay of successive notifications over time, with a mark where each variant is stable again."""
    figure = blank_figure(height=440)
    for recovery in found:
        index = variants.index(recovery.variant)
        figure.add_scatter(
            x=recovery.seconds,
            y=recovery.largest_ms,
            mode="lines",
            name=recovery.variant,
            legendgroup=recovery.variant,
            line={"color": colour(index), "width": 2, "dash": dash(index)},
            hovertemplate=f"%{{y:.0f}} ms at most, of {recovery.notifications} notifications",
        )
        if recovery.stable_after is not None:
            figure.add_scatter(
                x=[recovery.begin + recovery.stable_after],
                y=[recovery.normal_ms],
                mode="markers",
                name=f"{recovery.variant}, stable again",
                showlegend=False,
                legendgroup=recovery.variant,
                marker={
                    "color": colour(index), "size": 13, "symbol": symbol(index),
                    "line": {"width": 1, "color": "#ffffff"},
                },
                hovertemplate=f"{recovery.stable_after:.2f} s after the burst began",
            )  # fmt: skip
    if found:
        begin, end = min(recovery.begin for recovery in found), max(recovery.end for recovery in found)
        shade(figure, begin, end, "burst")
    figure.update_xaxes(title=RUN_SECONDS)
    figure.update_yaxes(**log_axis("largest delay, ms (log)", (ms for recovery in found for ms in recovery.largest_ms)))
    figure.update_layout(hovermode="x unified")
    return figure
