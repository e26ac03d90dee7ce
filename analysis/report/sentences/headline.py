"""The first sentences of a report: a defect if there is one, else an emulation that failed, else the finding.

The finding is the recovery from a burst where the scenario has one, else the first comparison of variants, else the
deliveries and delays of a single variant.
"""

from __future__ import annotations

from dataclasses import dataclass

from analysis.compare.sentences.variants import comparisons_in_words
from analysis.report.data import ReportData
from analysis.report.figures.burst_recovery import recovery_sentence
from analysis.report.sentences.delivery import delivery_sentence
from analysis.report.sentences.fidelity import FIDELITY_SENTENCES
from analysis.report.sentences.figures import beside
from analysis.report.sentences.kept import kept_in_words
from analysis.tables.summary import CORRECT, UNJUDGED, UNKNOWN_FIDELITY, Summary, VariantSummary
from analysis.tables.wording import milliseconds
from record.fidelity import FidelityVerdict
from record.figures import Figure


@dataclass(frozen=True, slots=True)
class Headline:
    """The sentences that a reader sees first."""

    lead: str
    details: list[str]
    """Further findings and the numbers behind them, or the findings that the lead casts doubt on."""


def headline(data: ReportData) -> Headline:
    """The headline of a run."""
    summary = data.summary
    findings = _findings(data)
    if (wrong := _defect(summary)) is not None:
        return Headline(wrong, findings[:1])
    if summary.fidelity in (FidelityVerdict.INVALID, UNKNOWN_FIDELITY):
        return Headline(FIDELITY_SENTENCES[summary.fidelity], findings[:1])
    kept, first = kept_in_words(summary, data.run), summary.variants[0]
    lead, *details = findings or [*filter(None, [kept]), delivery_sentence(first.delivery), _delay(first)]
    return Headline(lead, [sentence for sentence in details if sentence])


def _findings(data: ReportData) -> list[str]:
    """Recovery, comparisons, and their numbers, as far as the run has them."""
    recovery = recovery_sentence(data.burst_recoveries)
    found = [recovery] if recovery else []
    for compared in comparisons_in_words(data.summary, data.run.scenario):
        found += [compared.finding, compared.numbers]
    return found


def _defect(summary: Summary) -> str | None:
    """The first variant whose deliveries are not correct, in one sentence; None where there is none.

    A variant without publications counts only where no variant has any, because it shows nothing.
    """
    wrong = [variant for variant in summary.variants if variant.delivery.verdicts not in ([CORRECT], [UNJUDGED])]
    if not wrong:
        silent = all(variant.delivery.verdicts == [UNJUDGED] for variant in summary.variants)
        return delivery_sentence(summary.variants[0].delivery) if silent else None
    sentence = delivery_sentence(wrong[0].delivery)
    if len(summary.variants) == 1:
        return sentence
    others = ", ".join(variant.name for variant in wrong[1:])
    also = f" Deliveries under {others} were not correct either." if others else ""
    return f"Under {wrong[0].name}, {sentence[0].lower()}{sentence[1:]}{also}"


def _delay(variant: VariantSummary) -> str:
    delay = variant.delay
    if delay.p50_ms is None:
        return ""
    median, most = milliseconds(delay.p50_ms), milliseconds(delay.p99_ms)
    return (
        f"Half of the notifications took at most {median}{beside(delay.of(Figure.P50))}, and 99% at most {most}"
        f"{beside(delay.of(Figure.P99))}."
    )
