"""The page: the matrix, figures and every cell, put into one HTML file that opens without a network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from analysis.report.embedding import embedded
from analysis.report.offline_page import page_templates
from analysis.tables.limits import LimitOutcome
from analysis.tables.timeline import Fault
from analysis.tables.variant_figures import VariantFigures
from record.fidelity import FidelityVerdict
from record.files import REPORT, replace_file
from studies.campaign.matrix import CampaignSummary, CellLine, MatrixEntry
from studies.campaign.report.figures import delay_figure, groups, recovery_figure
from studies.campaign.result import struck_in_words
from studies.campaign.sentences import (
    closing_lines,
    delivery_ratio,
    judged,
    label,
    repeat_command,
    spread,
)

_BADGES = {FidelityVerdict.VALID: "good", FidelityVerdict.DEGRADED: "fair", FidelityVerdict.INVALID: "bad"}
_WHAT_SHOWN = 3


@dataclass(frozen=True)
class MatrixRow:
    """One combination of factors and variant under each of the schedules; a field is None where that was not run."""

    label: str
    fields: list[MatrixField | None]


@dataclass(frozen=True)
class MatrixField:
    """One combination, as the template shows it."""

    struck: str
    """The brokers and links that faults struck; empty where there are many."""
    badge: str
    delivery: str
    power: str
    fidelity: str
    fidelity_badge: str
    recovery: str
    lost: str
    before: str
    during: str
    after: str


@dataclass(frozen=True)
class CellRow:
    """A variant of a cell."""

    key: str
    variant: str
    delivery: str
    delivery_badge: str
    judged: str
    power: str
    fidelity: str
    fidelity_badge: str
    attempts: int
    faults: str
    recovery: str
    before: str
    during: str
    after: str
    lost: int
    again: str
    """The command that repeats it; empty where nothing was wrong."""
    reasons: list[str]


@dataclass(frozen=True)
class Following:
    """The links of a page that follows its campaign."""

    events: str
    """The address of events, at which the page is loaded again; empty once the campaign is over."""
    replays: Mapping[str, str]
    """The addresses of replays, by the key of the cell."""


NOT_FOLLOWING = Following("", {})


def build_report(summary: CampaignSummary, directory: Path) -> Path:
    """Writes `report/index.html` of a campaign's directory and returns its path."""
    target = directory / REPORT
    target.parent.mkdir(exist_ok=True)
    replace_file(target, render(summary, directory).encode())
    return target


def render(summary: CampaignSummary, directory: Path, following: Following = NOT_FOLLOWING) -> str:
    """The whole page as text. `directory` is the campaign's, which the page's commands name."""
    templates = page_templates("studies.campaign.report")
    schedules = list(dict.fromkeys(entry.schedule for entry in summary.matrix))
    faults = any(entry.faults for entry in summary.matrix)
    return templates.get_template("campaign.html.j2").render(
        summary=summary,
        following=following,
        sentences=list(closing_lines(summary)),
        delivery_badge="good" if summary.delivery == ["correct"] else "bad",
        fidelity_badge=_BADGES[FidelityVerdict(summary.fidelity)],
        limits=[limit for line in summary.cells for _, limit in line.result.limits],
        schedules=schedules,
        rows=[_matrix_row(group, schedules) for group in groups(summary.matrix)],
        recovery=embedded(recovery_figure(summary), "recovery") if faults else None,
        delays=embedded(delay_figure(summary), "delays") if faults else None,
        cells=[row for line in summary.cells for row in _cell_rows(line, directory)],
    )


def _matrix_row(group: Sequence[MatrixEntry], schedules: Sequence[str]) -> MatrixRow:
    by_schedule = {entry.schedule: entry for entry in group}
    return MatrixRow(
        label=label(group[0]),
        fields=[_field(by_schedule[name]) if name in by_schedule else None for name in schedules],
    )


def _field(entry: MatrixEntry) -> MatrixField:
    worst = next(verdict for verdict in reversed(FidelityVerdict) if entry.fidelity.get(verdict))
    defects = f": {', '.join(entry.defects)}" if entry.defects else ""
    ratio = f"; delivery ratio {found}" if (found := delivery_ratio(entry)) else ""
    return MatrixField(
        struck=struck_in_words(entry.struck),
        badge="good" if entry.correct == entry.cells else "bad",
        delivery=f"{entry.correct} of {entry.cells} correct{defects}{ratio}",
        power=entry.power.in_words(),
        fidelity=", ".join(f"{count} {verdict}" for verdict, count in entry.fidelity.items()),
        fidelity_badge=_BADGES[worst],
        recovery=spread(entry.recovered_s, 2),
        lost=f"{entry.lost:,} of {entry.expected:,}",
        before=spread(entry.delay_before_ms or entry.mean_ms, 1),
        during=spread(entry.delay_during_ms, 1),
        after=spread(entry.delay_after_ms, 1),
    )


def _cell_rows(line: CellLine, directory: Path) -> Iterator[CellRow]:
    result = line.result
    for variant in result.variants:
        unmet = [limit.in_words() for limit in variant.limits or () if limit.outcome is not LimitOutcome.MET]
        wrong = bool(unmet) or variant.delivery != ["correct"] or variant.fidelity == FidelityVerdict.INVALID
        scenario = directory / "cells" / result.key / "scenario.yaml"
        yield CellRow(
            key=result.key,
            variant=variant.name,
            delivery=", ".join(variant.delivery),
            delivery_badge="good" if variant.delivery == ["correct"] else "bad",
            judged=judged(variant.power),
            power=variant.power.in_words(),
            fidelity=variant.fidelity,
            fidelity_badge=_BADGES[FidelityVerdict(variant.fidelity)],
            attempts=line.attempts,
            faults="; ".join(map(_fault, variant.faults)) or "–",
            recovery=_each(variant, "recovered_s", 2),
            before=_each(variant, "delay_before_ms", 1),
            during=_each(variant, "delay_during_ms", 1),
            after=_each(variant, "delay_after_ms", 1),
            lost=variant.lost,
            again=repeat_command(scenario, result) if wrong else "",
            reasons=[*unmet, *variant.reasons],
        )


def _fault(fault: Fault) -> str:
    more = f" and {len(fault.what) - _WHAT_SHOWN} more" if len(fault.what) > _WHAT_SHOWN else ""
    return f"{fault.kind} {', '.join(fault.what[:_WHAT_SHOWN])}{more}"


def _each(variant: VariantFigures, field: str, decimals: int) -> str:
    """A number for each fault, in order of time."""
    values = [getattr(fault, field) for fault in variant.faults]
    return "; ".join("–" if value is None else f"{value:,.{decimals}f}" for value in values) or "–"
