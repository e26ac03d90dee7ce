"""Sentences for the top of a report: verdicts, their reasons, and the settings of the run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from markupsafe import Markup, escape
from msgspec import UNSET

from analysis.report.data import ReportData
from analysis.tables.summary import BROKER_DEFECT, CORRECT, STATE_LEFT, UNJUDGED, UNKNOWN_FIDELITY, Delivery
from record.fidelity import VariantFidelity
from topology.model import MeshLinks, Overlay, range_of_rates

FIDELITY_SENTENCES = {
    "VALID": "Links, processors and logs were as requested, so the numbers describe the overlay.",
    "DEGRADED": "Some requests were not quite met; the reasons below name the numbers that need care.",
    "INVALID": "The emulation did not meet its requests: the numbers describe this host, not the overlay.",
    UNKNOWN_FIDELITY: "The fidelity of the emulation was not measured.",
}


@dataclass(frozen=True, slots=True)
class ComparisonInWords:
    """A difference between variants, and the numbers behind it."""

    finding: str
    """One sentence: the difference, with its interval and its cause where the logs show them."""
    numbers: str
    """Further sentences with the numbers; empty where nothing could be compared."""


def delivery_sentence(delivery: Delivery) -> str:
    """Verdict of the delivery oracle, in one sentence; of a best-effort protocol, after its delivery ratio."""
    if delivery.best_effort is not UNSET and delivery.published:
        ratio = capitalised(delivery.best_effort.in_words())
        return f"{ratio}. {_best_effort_sentence(delivery)}"
    if delivery.verdicts == [UNJUDGED]:
        return "No client published anything, so there was nothing to deliver."
    if delivery.verdicts == [BROKER_DEFECT]:
        return "A broker failed by a defect of its own code, which ended the run, so deliveries are not judged."
    if delivery.verdicts == [CORRECT]:
        return (
            f"Every subscriber received exactly what it should: all {delivery.expected:,} expected notifications of "
            f"{delivery.published:,} publications arrived, none twice, and none at another client."
            f"{_detected(delivery)}{_excused(delivery)}"
        )
    return _wrong(delivery)


def _best_effort_sentence(delivery: Delivery) -> str:
    """Everything but the ratio."""
    wrong = delivery.lost or delivery.duplicate or delivery.spurious or delivery.reordered or delivery.against_streams
    if wrong or any(_detections_wrong(delivery)):
        return _wrong(delivery)
    return (
        f"None of {delivery.delivered:,} notifications arrived twice or at another client, and every broker notified "
        f"its own clients of what it received.{_excused(delivery)}"
    )


def _wrong(delivery: Delivery) -> str:
    found = [
        f"{delivery.lost:,} of {delivery.expected:,} expected notifications never arrived" if delivery.lost else "",
        f"{delivery.duplicate:,} arrived more than once" if delivery.duplicate else "",
        f"{delivery.spurious:,} went to clients that must not get them" if delivery.spurious else "",
        f"{delivery.reordered:,} arrived after a later one, although routing promises order"
        if delivery.reordered
        else "",
        ""
        if delivery.against_streams is UNSET
        else f"{delivery.against_streams:,} arrived against their stream's order",
        _starts_wrong(delivery),
        *_detections_wrong(delivery),
        "routing tables hold rows that no client stands for any more" if STATE_LEFT in delivery.verdicts else "",
    ]
    return capitalised("; ".join(part for part in found if part)) + "." + _excused(delivery)


def _detected(delivery: Delivery) -> str:
    """Detections of which none is wrong."""
    found = delivery.detections
    if found is UNSET:
        return ""
    return f" So did all {found.expected:,} expected detections of {found.composites:,} composite subscriptions."


def _detections_wrong(delivery: Delivery) -> list[str]:
    found = delivery.detections
    if found is UNSET:
        return []
    dropped = f", {found.dropped:,} of them beside a drop at a bound" if found.dropped else ""
    return [
        f"{found.lost:,} of {found.expected:,} expected detections never arrived{dropped}" if found.lost else "",
        f"{found.duplicate:,} detections arrived more than once" if found.duplicate else "",
        f"{found.spurious:,} detections went to clients that must not get them" if found.spurious else "",
    ]


def _starts_wrong(delivery: Delivery) -> str:
    found = delivery.starts
    return f"{found.missing:,} subscriptions were not announced as started in time" if found and found.missing else ""


def _excused(delivery: Delivery) -> str:
    if not delivery.excused:
        return ""
    return f" {delivery.excused:,} optional notifications did not arrive, because something was in flight or broken."


def fidelity_sentences(fidelity: VariantFidelity | None) -> list[str]:
    """The verdict on the emulation, the reasons why it is not VALID, and the advice."""
    if fidelity is None:
        return [FIDELITY_SENTENCES[UNKNOWN_FIDELITY]]
    advice = [f"{fidelity.advice}."] if fidelity.advice else []
    return [FIDELITY_SENTENCES.get(fidelity.verdict, ""), *fidelity.reasons, *advice]


def capitalised(text: str) -> str:
    """A sentence whose first letter is made a capital one."""
    return text[:1].upper() + text[1:]


def milliseconds(value: float | None) -> str:
    """A delay; below 100 ms with its tenths."""
    if value is None:
        return "–"
    return f"{value:,.0f} ms" if value >= 100 else f"{value:.1f} ms"


def unbroken(text: str) -> str:
    """A sentence in which no line breaks beside an arrow between two brokers."""
    return text.replace(" → ", "\u00a0→\u00a0")


def with_code(text: str) -> Markup:
    """A sentence as HTML, with the text between backticks as code."""
    parts = [escape(part) for part in text.split("`")]
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if index % 2 else part for index, part in enumerate(parts)
    )


def what_was_run(data: ReportData) -> list[tuple[str, str]]:
    """Rows of the run's settings: label and value."""
    run = data.run
    scenario = run.scenario
    return [
        *_overlays(data),
        ("Routing", ", ".join(f"{key} {value}" for key, value in _flat(scenario.get("routing")))),
        *_pace(data),
        ("Seed", str(run.seed)),
        ("Runtime", f"{run.runtime.name} ({run.runtime.reason})"),
        ("Link driver", f"{run.links.name} ({run.links.reason})"),
        ("Host", f"{run.host.cpus} processors, {run.host.memory / 2**30:.1f} GiB, {run.host.system}"),
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
        size = f"{overlay.name}: {brokers} brokers, {links} links, mean degree {2 * links / brokers:.1f}"
        rows += [(f"Overlay{suffix}", size), (f"Links{suffix}", _link_range(overlay))]
    return rows


def _pace(data: ReportData) -> list[tuple[str, str]]:
    """Row of the time dilation; empty where every variant ran at the speed of its scenario."""
    dilations = {variant.name: variant.time_dilation for variant in data.run.variants}
    if set(dilations.values()) <= {1.0}:
        return []
    if len(set(dilations.values())) == 1:
        shown = f"{next(iter(dilations.values())):g}"
    else:
        shown = ", ".join(f"{name} {dilation:g}" for name, dilation in dilations.items())
    return [("Time dilation", f"{shown} times slower than the scenario; all times here are the scenario's")]


def _flat(section: object) -> list[tuple[str, object]]:
    return list(section.items()) if isinstance(section, dict) else []


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
