"""The first screen of a report: the headline, the verdicts in a row each, and one picture of the effect.

The picture is the most telling figure over time beside the overlay under load: of a single variant, or of the first
variant and the fastest other, which the headline compares.
"""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup
from msgspec import UNSET

from analysis.report.courses import Course
from analysis.report.data import ReportData
from analysis.report.embedding import embedded
from analysis.report.figures.sites import seen_sites
from analysis.report.figures.style import colour
from analysis.report.overlay_drawing import busiest_link, overlay_drawing
from analysis.report.sentences.fidelity import fidelity_sentences
from analysis.tables.limits import LimitOutcome
from analysis.tables.summary import CORRECT, UNKNOWN_FIDELITY, VariantSummary
from analysis.tables.traffic import BrokerMessages
from analysis.tables.wording import capitalised
from record.fidelity import FidelityVerdict

PLOT_HEIGHT = 330
ROWS_SHOWN = 8
"""Variants whose verdicts are on the first screen."""


@dataclass(frozen=True)
class VerdictRow:
    """Both verdicts on a variant in one line, with what a reader must know beside them."""

    summary: VariantSummary
    colour: str
    fidelity: str
    notes: list[str]
    """The delivery ratio of a best-effort protocol, the power of the verdict on deliveries, the sample of publications
    that brokers logged, the limits that were not met, and the first reason why the emulation is not VALID."""

    @property
    def good(self) -> bool:
        met = all(limit.outcome is LimitOutcome.MET for limit in self.summary.limits or ())
        return met and self.summary.delivery.verdicts == [CORRECT] and self.fidelity == FidelityVerdict.VALID


@dataclass(frozen=True)
class Drawing:
    """The overlay of a variant under its load."""

    variant: str
    svg: Markup


@dataclass(frozen=True)
class FirstScreen:
    """The content of the first screen."""

    log_losses: list[str]
    """Damaged and missing logs, a sentence each."""
    verdicts: list[VerdictRow]
    """Verdicts to show: all of a few variants; of many, those that are not good before the others."""
    more_verdicts: int
    """Variants without a row."""
    course: Course
    plot: Markup
    drawings: list[Drawing]


def first_screen(data: ReportData, course: Course, drawings: list[Drawing]) -> FirstScreen:
    """The first screen of a run; `drawings` are of all variants."""
    rows = [_verdict(data, variant, index) for index, variant in enumerate(data.summary.variants)]
    if len(rows) > ROWS_SHOWN:
        rows.sort(key=lambda row: row.good)
    course.figure.update_layout(height=PLOT_HEIGHT)
    return FirstScreen(
        log_losses=[capitalised(sentence) for sentence in data.summary.logs.in_words()],
        verdicts=rows[:ROWS_SHOWN],
        more_verdicts=max(0, len(rows) - ROWS_SHOWN),
        course=course,
        plot=embedded(course.figure, course.name),
        drawings=[drawing for drawing in drawings if drawing.variant in compared_variants(data)],
    )


def compared_variants(data: ReportData) -> list[str]:
    """The variants that the picture shows: the two of the comparison, or the only one."""
    compared = data.summary.comparison
    return data.variants[:1] if compared is None else [compared.reference, compared.variant]


def drawings_of(data: ReportData) -> list[Drawing]:
    """The overlays of all variants, on one scale."""
    busiest = busiest_link(data.links)
    compared = data.summary.comparison
    relieved = None if compared is None else compared.relieved
    return [
        Drawing(
            name,
            Markup(  # noqa: S704 - made by ElementTree, which escapes what is in it
                overlay_drawing(
                    data.overlays[name],
                    [row for row in data.links if row.variant == name],
                    _messages_of(data, name),
                    busiest,
                    relieved if name in compared_variants(data) else None,
                    placements=[row for row in data.placements if row.variant == name],
                    sites=seen_sites(data.replayed[name]) if name in data.replayed else (),
                )
            ),
        )
        for name in data.variants
    ]


def _messages_of(data: ReportData, name: str) -> list[BrokerMessages] | None:
    """The messages of a variant's brokers; None where these keep no logs."""
    logged = any(variant.name == name and variant.brokers_log for variant in data.summary.variants)
    return [row for row in data.messages if row.variant == name] if logged else None


def _verdict(data: ReportData, variant: VariantSummary, index: int) -> VerdictRow:
    judged = data.fidelity.get(variant.name)
    ratio = "" if variant.delivery.best_effort is UNSET else capitalised(variant.delivery.best_effort.in_words())
    power = capitalised(variant.delivery.power_in_words())
    sample = "" if variant.sampled_logs is UNSET else variant.sampled_logs.in_words()
    limits = [limit.in_words() for limit in variant.limits or () if limit.outcome is not LimitOutcome.MET]
    slow = [start.in_words() for start in variant.slow_starts or ()]
    reason = next(iter(fidelity_sentences(judged, variant.delivery.verdicts)[1:]), "")
    return VerdictRow(
        summary=variant,
        colour=colour(index),
        fidelity=judged.verdict if judged else UNKNOWN_FIDELITY,
        notes=[note for note in (ratio, power, sample, *map(capitalised, limits), *slow, reason) if note],
    )
