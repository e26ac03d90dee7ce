"""Verdicts and differences in sentences a person reads first."""

from __future__ import annotations

from markupsafe import Markup, escape

from analysis.report.data import ReportData
from analysis.tables.comparison import Comparison
from analysis.tables.summary import BROKER_DEFECT, CORRECT, UNJUDGED, UNKNOWN_FIDELITY, Delivery
from record.fidelity import VariantFidelity
from topology.model import Overlay

FIDELITY_SENTENCES = {
    "VALID": "Links, processors and logs kept what was asked of them, so the numbers describe the overlay.",
    "DEGRADED": "Some of what was asked was not quite kept; the reasons below say which numbers to take with care.",
    "INVALID": "The emulation did not keep what was asked: the numbers describe this host, not the overlay.",
    UNKNOWN_FIDELITY: "Nothing was measured about the emulation itself.",
}


def delivery_sentence(delivery: Delivery) -> str:
    """What the delivery oracle found, in one sentence."""
    if delivery.verdicts == [UNJUDGED]:
        return "No client published anything, so there was nothing to deliver."
    if delivery.verdicts == [BROKER_DEFECT]:
        return "A broker failed by a defect of its own code, which ended the run, so deliveries are not judged."
    if delivery.verdicts == [CORRECT]:
        return (
            f"Every subscriber got exactly what it should: all {delivery.expected:,} expected notifications of "
            f"{delivery.published:,} publications came, none twice, and none to anybody else.{_excused(delivery)}"
        )
    found = [
        f"{delivery.lost:,} of {delivery.expected:,} expected notifications never came" if delivery.lost else "",
        f"{delivery.duplicate:,} came more than once" if delivery.duplicate else "",
        f"{delivery.spurious:,} went to clients that must not get them" if delivery.spurious else "",
        f"{delivery.reordered:,} came after a later one, though routing promises order" if delivery.reordered else "",
    ]
    sentence = "; ".join(part for part in found if part)
    return sentence[0].upper() + sentence[1:] + "." + _excused(delivery)


def _excused(delivery: Delivery) -> str:
    if not delivery.excused:
        return ""
    return f" {delivery.excused:,} more might have come and did not, while something was in flight or broken."


def fidelity_sentences(fidelity: VariantFidelity | None) -> list[str]:
    """The verdict on the emulation, and every reason why it is not VALID."""
    if fidelity is None:
        return [FIDELITY_SENTENCES[UNKNOWN_FIDELITY]]
    advice = [f"{fidelity.advice}."] if fidelity.advice else []
    return [FIDELITY_SENTENCES.get(fidelity.verdict, ""), *fidelity.reasons, *advice]


def with_code(text: str) -> Markup:
    """A sentence for the page, with what stands between backticks as something to type."""
    parts = [escape(part) for part in text.split("`")]
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if index % 2 else part for index, part in enumerate(parts)
    )


def comparison_sentence(comparison: Comparison) -> str:
    """Which variant was faster, by how much, and how sure that is."""
    difference = comparison.relative_difference
    if difference is None:
        return "The two variants delivered no notification in common, so their delays cannot be compared."
    if difference == 0 and comparison.interval in (None, (0.0, 0.0)):
        return f"Over the same {comparison.pairs:,} notifications, both variants have the very same delays."
    direction = "shorter" if difference < 0 else "longer"
    sentence = (
        f"Over the same {comparison.pairs:,} notifications, the mean delay with {comparison.variant} is "
        f"{abs(difference):.1%} {direction} than with {comparison.reference}"
    )
    if comparison.interval is None:
        return sentence + "; the run was too short for an interval."
    low, high = comparison.interval
    sentence += f" (95% interval {low:+.1%} to {high:+.1%})"
    return sentence + ("." if low > 0 or high < 0 else ", which may be chance.")


def what_was_run(data: ReportData) -> list[tuple[str, str]]:
    """The run in a few rows: label and value."""
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
    """The overlay and its links; once, where all variants have the same."""
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
    """Only where a variant ran slower than its scenario."""
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
    delays = sorted(link.forward.delay * 1000 for link in overlay.links)
    rates = sorted({link.forward.rate for link in overlay.links if link.forward.rate is not None})
    if not delays:
        return "none"
    low, high = f"{delays[0]:.1f}", f"{delays[-1]:.1f}"
    text = f"one-way delay {low if low == high else f'{low} to {high}'} ms"
    if rates:
        text += (
            f", {rates[0] / 1e6:g} Mbit/s" if len(rates) == 1 else f", {rates[0] / 1e6:g}-{rates[-1] / 1e6:g} Mbit/s"
        )
    return text
