"""The page of a search, one HTML file that opens without a network."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from analysis.report.embedding import embedded
from analysis.report.offline_page import page_templates
from analysis.tables.wording import capitalised, milliseconds, rounded, variant_name
from record.files import REPORT, replace_file
from studies.saturation.bisection import LoadOutcome
from studies.saturation.capacity import Capacity, LoadPoint, SaturationSummary
from studies.saturation.figures import load_figure
from studies.saturation.sentences import carries, findings, title, written

_BADGES = {LoadOutcome.HOLDS: "good", LoadOutcome.FAILS: "bad", LoadOutcome.NOT_JUDGED: "fair"}
_FIGURES = (
    ("mean_ms", "Mean delay", "mean delay, ms"),
    ("p95_ms", "95th percentile of the delay", "95% within, ms"),
    ("queue", "Messages in output queues, on average over the last third of the run phase", "messages"),
    ("messages", "Messages between brokers for each publication", "messages"),
)


@dataclass(frozen=True)
class PointRow:
    """One load of one variant, as the template shows it."""

    variant: str
    load: str
    badge: str
    outcome: str
    mean: str
    p95: str
    queue: str
    messages: str
    reason: str


def build_page(summary: SaturationSummary, directory: Path) -> Path:
    """Writes `report/index.html` of a search's directory and returns its path."""
    target = directory / REPORT
    target.parent.mkdir(exist_ok=True)
    replace_file(target, render(summary).encode())
    return target


def render(summary: SaturationSummary) -> str:
    """The whole page as text."""
    templates = page_templates("studies.saturation")
    return templates.get_template("saturation.html.j2").render(
        summary=summary,
        title=title(summary),
        findings=[capitalised(sentence) for sentence in findings(summary)],
        capacities=[(variant_name(found.variant), carries(found, summary.unit)) for found in summary.capacities],
        figures=[(heading, embedded(load_figure(summary, name, axis), name)) for name, heading, axis in _FIGURES],
        rows=[_row(summary, capacity, point) for capacity in summary.capacities for point in capacity.points],
    )


def _row(summary: SaturationSummary, capacity: Capacity, point: LoadPoint) -> PointRow:
    return PointRow(
        variant=variant_name(capacity.variant),
        load=written(point.load, summary.unit),
        badge=_BADGES[point.outcome],
        outcome=f"{point.outcome}, {point.held} of {len(point.seeds)}",
        mean=milliseconds(point.mean("mean_ms")),
        p95=milliseconds(point.mean("p95_ms")),
        queue=rounded(point.mean("queue") or 0.0),
        messages=rounded(point.mean("messages") or 0.0),
        reason=point.reason,
    )
