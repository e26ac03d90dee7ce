"""The first sentences of a report: a defect if there is one, else an emulation that failed, else the finding."""

from __future__ import annotations

from dataclasses import dataclass

from analysis.report.comparison import ComparisonInWords, comparison_in_words
from analysis.report.data import ReportData
from analysis.report.sentences import delivery_sentence, milliseconds
from analysis.tables.summary import CORRECT, UNJUDGED, Summary, VariantSummary
from record.fidelity import FidelityVerdict

_INVALID = "The emulation did not meet its requests, so the numbers describe this host and not the overlay."


@dataclass(frozen=True, slots=True)
class Headline:
    """The two sentences that a reader sees first."""

    lead: str
    details: str
    """Numbers behind the lead, or a finding that the lead casts doubt on; may be empty."""


def headline(data: ReportData) -> Headline:
    """The headline of a run."""
    summary = data.summary
    compared: ComparisonInWords | None = None
    if summary.comparison is not None:
        compared = comparison_in_words(summary.comparison, data.run.scenario)
    doubtful = "" if compared is None else compared.finding
    if (wrong := _defect(summary)) is not None:
        return Headline(wrong, doubtful)
    if summary.fidelity == FidelityVerdict.INVALID:
        return Headline(_INVALID, doubtful)
    if compared is not None:
        return Headline(compared.finding, compared.numbers)
    return Headline(delivery_sentence(summary.variants[0].delivery), _delay(summary.variants[0]))


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
    return f"Half of the notifications took at most {median}, and 99% at most {most}."
