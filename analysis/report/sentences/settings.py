"""The settings of a run in words: overlay, links, routing, seed, runtime and host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from msgspec import UNSET

from analysis.report.data import ReportData
from analysis.report.sentences.dilation import missing_in_words
from analysis.tables.wording import setting_value
from record.host_speed import factor_in_words
from record.wording import count_of
from topology.model import MeshLinks, Overlay, range_of_rates


def what_was_run(data: ReportData) -> list[tuple[str, str]]:
    """Rows of the run's settings: label and value."""
    run = data.run
    scenario = run.scenario
    return [
        *_overlays(data),
        *_varied(data),
        ("Routing", ", ".join(f"{key} {value}" for key, value in _same(scenario))),
        *_pace(data),
        ("Seed", str(run.seed)),
        ("Runtime", f"{run.runtime.name} ({run.runtime.reason})"),
        ("Link driver", f"{run.links.name} ({run.links.reason})"),
        *_calibration(data),
        ("Host", f"{count_of(run.host.cpus, 'processor')}, {run.host.memory / 2**30:.1f} GiB, {run.host.system}"),
        ("Made", f"{run.created}, revision {run.git_revision or 'unknown'}"),
    ]


def _overlays(data: ReportData) -> list[tuple[str, str]]:
    """Rows of overlays and their links; one pair of rows where all variants have the same overlay."""
    distinct = {name: overlay for name, overlay in data.overlays.items() if overlay != data.overlays[data.variants[0]]}
    shown = {data.variants[0]: data.overlays[data.variants[0]], **distinct}
    rows = []
    for name, overlay in shown.items():
        suffix = f", {name}" if distinct else ""
        brokers, links = len(overlay.brokers), len(overlay.links)
        degree = 2 * links / brokers
        size = f"{overlay.name}: {count_of(brokers, 'broker')}, {count_of(links, 'link')}, mean degree {degree:.1f}"
        rows += [(f"Overlay{suffix}", size), (f"Links{suffix}", _link_range(overlay))]
    return rows


def _varied(data: ReportData) -> list[tuple[str, str]]:
    """Row of the fields in which variants differ, with the values of each; empty for a single variant."""
    settings = {variant.name: variant.settings for variant in data.run.variants}
    if len(settings) < 2:
        return []
    told = [
        f"{name}: {', '.join(f'{field} {setting_value(value)}' for field, value in of_variant.items())}"
        for name, of_variant in settings.items()
    ]
    return [("Compared", "; ".join(told))]


def _same(scenario: Mapping[str, Any]) -> list[tuple[str, object]]:
    """The fields of routing that all variants have in common."""
    varied = tuple(scenario.get("vary") or ())
    routing = scenario.get("routing")
    if "routing" in varied or not isinstance(routing, dict):
        return []
    return [(key, value) for key, value in routing.items() if f"routing.{key}" not in varied]


def _pace(data: ReportData) -> list[tuple[str, str]]:
    """Row of the time dilation; empty where every variant ran at the speed of its scenario."""
    dilations = {variant.name: variant.time_dilation for variant in data.run.variants}
    if set(dilations.values()) <= {1.0}:
        return []
    if len(set(dilations.values())) == 1:
        shown = f"{next(iter(dilations.values())):g}"
    else:
        shown = ", ".join(f"{name} {dilation:g}" for name, dilation in dilations.items())
    rows = [("Time dilation", f"{shown} times slower than the scenario; all times here are the scenario's")]
    if data.run.dilation is not UNSET:
        rows.append(("Time dilation chosen", data.run.dilation.in_words()))
    for variant in data.summary.variants:
        missing = missing_in_words(variant.delay, dilations.get(variant.name, 1.0))
        if missing is not None:
            rows.append((f"Dilated delays, {variant.name}", missing))
    return rows


def _calibration(data: ReportData) -> list[tuple[str, str]]:
    """Rows of the calibration's origin and of its factor on each host; empty of runs that do not state them."""
    origin = data.run.calibration_origin
    rows = [("Calibration", origin)] if origin else []
    for host, speed in data.run.speeds.items():
        costs = f"Its costs on {host}" if host else "Its costs"
        rows.append((costs, f"work and platform {factor_in_words(speed.factor)}, by a loop timed before the run"))
    return rows


def _link_range(overlay: Overlay) -> str:
    """The range of delays and rates of an overlay's links, each from its end `a`."""
    if not overlay.links:
        return "none"
    delays, rates = _delays(overlay), _rates(overlay)
    low, high = (f"{delay * 1000:.1f}" for delay in delays)
    text = f"one-way delay {low if low == high else f'{low} to {high}'} ms"
    if rates is not None:
        slowest, fastest = (f"{rate / 1e6:g}" for rate in rates)
        text += f", {slowest} Mbit/s" if slowest == fastest else f", {slowest}-{fastest} Mbit/s"
    return text


def _delays(overlay: Overlay) -> tuple[float, float]:
    """The least and the greatest delay, in seconds."""
    links = overlay.links
    if isinstance(links, MeshLinks):
        delays = links.delays()[np.triu_indices(len(links.brokers), 1)]
        return float(delays.min()), float(delays.max())
    delays_of_links = [link.forward.delay for link in links]
    return min(delays_of_links), max(delays_of_links)


def _rates(overlay: Overlay) -> tuple[float, float] | None:
    """The least and the greatest rate, in bits per second; None where no link has one."""
    links = overlay.links
    return links.rates() if isinstance(links, MeshLinks) else range_of_rates(links)
