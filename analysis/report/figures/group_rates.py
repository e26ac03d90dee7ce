"""The section on groups of subscribers: notifications of each group a second, as in Gryphon's figure 7(a).

Shown for workloads of kind `topics`, whose subscribers are in groups and numbered through in the groups' order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pyarrow as pa
import pyarrow.compute as pc

from analysis.report.figures.style import RUN_SECONDS, blank_figure, colour, dash, line_mode, symbol
from analysis.tables.deliveries import Notification
from analysis.tables.results import read_columns
from analysis.tables.timeline import PhaseTimes
from record.manifest import Manifest, PhaseName
from record.time_units import SECOND

_COLUMNS = ("client", "notified_ns")
_SUBSCRIPTIONS = "workload.subscriptions"
_SUBSCRIBER = "S"
"""First letter of the names of generated subscribers; their number follows."""


@dataclass(frozen=True, slots=True)
class GroupRates:
    """Notifications of one variant's groups in each second of the run phase."""

    variant: str
    groups: Sequence[str]
    """Name of each group, in the scenario's order."""
    counts: Sequence[Sequence[int]]
    """Notifications of each group in each second, from second 0 on."""


def read_group_rates(results: Path, run: Manifest, phases: Sequence[PhaseTimes]) -> list[GroupRates]:
    """The rates of each variant whose workload has groups, in the order of the variants; empty without groups."""
    groups = {variant.name: _groups(run.scenario, variant.settings) for variant in run.variants}
    if not any(groups.values()):
        return []
    running = {phase.variant: phase for phase in phases if phase.phase == PhaseName.RUN}
    found: dict[str, GroupRates] = {}
    for variant, batches in read_columns(results, Notification, _COLUMNS):
        if groups.get(variant) and variant in running:
            found[variant] = group_rates(variant, batches, groups[variant], running[variant])
    return [found[variant] for variant in groups if variant in found]


def group_rates(
    variant: str, batches: Iterable[pa.RecordBatch], groups: Sequence[Mapping[str, Any]], running: PhaseTimes
) -> GroupRates:
    """The rates of one variant, from the columns `_COLUMNS` of its notifications and the scenario's groups."""
    lasts = list(accumulate(int(group["subscribers"]) for group in groups))
    seconds = (running.end_ns - running.start_ns) // SECOND
    counts = np.zeros((len(groups), seconds), np.int64)
    for batch in batches:
        own = batch.filter(pc.match_substring_regex(batch["client"], f"^{_SUBSCRIBER}[0-9]+$"))
        number = pc.cast(pc.utf8_slice_codeunits(own["client"], 1), pa.int64()).to_numpy(zero_copy_only=False)
        place = np.searchsorted(lasts, number)
        second = (own["notified_ns"].to_numpy() - running.start_ns) // SECOND
        counted = (place < len(groups)) & (second >= 0) & (second < seconds)
        np.add.at(counts, (place[counted], second[counted]), 1)
    names = [_name(group, first, last) for group, first, last in zip(groups, [0, *lasts], lasts, strict=False)]
    return GroupRates(variant, names, counts.tolist())


def rates_figure(rates: GroupRates) -> go.Figure:
    """Notifications a second of each group of one variant."""
    figure = blank_figure()
    for index, (group, counts) in enumerate(zip(rates.groups, rates.counts, strict=True)):
        figure.add_scatter(
            x=list(range(len(counts))),
            y=list(counts),
            mode=line_mode(len(counts)),
            name=group,
            line={"color": colour(index), "width": 2, "dash": dash(index)},
            marker={"symbol": symbol(index), "size": 7},
            hovertemplate="%{y:,} a second",
        )
    figure.update_xaxes(title=RUN_SECONDS)
    figure.update_yaxes(title="notifications a second", rangemode="tozero")
    figure.update_layout(hovermode="x unified")
    return figure


def _groups(scenario: Mapping[str, Any], settings: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Groups of a variant of a resolved scenario; empty where its workload has none."""
    workload = scenario.get("workload") or {}
    if workload.get("kind") != "topics":
        return []
    return settings.get(_SUBSCRIPTIONS) or workload.get("subscriptions") or []


def _name(group: Mapping[str, Any], before: int, last: int) -> str:
    """`S1 to S250, topics 1..50`."""
    clients = f"{_SUBSCRIBER}{before + 1}" + (f" to {_SUBSCRIBER}{last}" if last > before + 1 else "")
    return f"{clients}, topics {group['topics']}" if group.get("topics") else clients
