"""The comparison of ways to route composite subscriptions in words: messages between brokers, and detection delay.

Delays of plain notifications hardly differ between such variants. What does is the traffic, because a publication that
completes nothing ends where the sets are detected.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import UNSET

from analysis.compare.sentences.finding import ComparisonInWords
from analysis.tables.summary import VariantSummary
from analysis.tables.wording import milliseconds, variant_name
from broker_service.messages import Kind

_VARIED = "routing.composites"


def composite_comparison(variants: Sequence[VariantSummary], scenario: Mapping[str, Any]) -> ComparisonInWords | None:
    """The variant with the fewest publications and detections between brokers, against the first one.

    None where the variants differ in anything but their routing of composite subscriptions. `scenario` is the resolved
    scenario of the run, whose `vary` names the variants.
    """
    if list(scenario.get("vary") or ()) != [_VARIED] or len(variants) < 2:
        return None
    reference, *others = variants
    variant = min(others, key=_copies)
    return ComparisonInWords(_finding(variant, reference, len(others)), _numbers(variant, reference))


def _finding(variant: VariantSummary, reference: VariantSummary, candidates: int) -> str:
    fewer, before = _copies(variant), _copies(reference)
    name, other = variant_name(variant.name), variant_name(reference.name)
    best = f"Of the {candidates} other ways to route composite subscriptions, {name} was the most economical: "
    subject = f"{best}brokers" if candidates > 1 else "Brokers"
    if fewer == before:
        change = f"as many publications and detections with {name} as with {other} routing"
        return f"{subject} sent each other {change}, {before:,}."
    share = abs(1 - fewer / before) if before else 1.0
    change = f"{share:.0%} {'fewer' if fewer < before else 'more'} publications and detections"
    compared = f"with {name} than with {other} routing of composite subscriptions"
    return f"{subject} sent each other {change} {compared}: {fewer:,} instead of {before:,}."


def _numbers(variant: VariantSummary, reference: VariantSummary) -> str:
    controls = [_sent(summary, Kind.CONTROL) for summary in (variant, reference)]
    sentences = [f"{controls[0]:,} control messages instead of {controls[1]:,} come on top."] if any(controls) else []
    means = [_mean_delay(summary) for summary in (variant, reference)]
    if None not in means:
        now, before = map(milliseconds, means)
        delays = f"{now} with both ways" if now == before else f"{now} instead of {before}"
        sentences.append(f"Detections took {delays} in the mean.")
    return " ".join(sentences)


def _mean_delay(summary: VariantSummary) -> float | None:
    detections = summary.delivery.detections
    return None if detections is UNSET else detections.mean_ms


def _copies(summary: VariantSummary) -> int:
    """Publications and detections that brokers sent to each other."""
    return _sent(summary, Kind.PUBLISH) + _sent(summary, Kind.DETECTION)


def _sent(summary: VariantSummary, kind: Kind) -> int:
    return sum(row.sent for row in summary.messages if row.kind == kind.word)
