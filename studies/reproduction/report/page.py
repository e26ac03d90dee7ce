"""The page: claims by paper and scenario, with their verdicts and figures, in one HTML file that opens without a
network."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from markupsafe import Markup

from analysis.claims import Claim, ClaimKind, Claims, ClaimVerdict, JudgedClaim, JudgedPart, Paper, judge
from analysis.claims.standing import Standing
from analysis.report.embedding import embedded
from analysis.report.offline_page import page_templates
from emulation.run.progress import duration
from record.files import REPORT, replace_file
from record.wording import count_of
from studies.cells.attempt import CellFailure
from studies.reproduction.plan import SCENARIOS, Experiment
from studies.reproduction.reasons import remarks
from studies.reproduction.report.figures import interval_drawing, paper_figure
from studies.reproduction.results import MeasuredCell, MeasuredExperiment
from studies.reproduction.sentences import closing_lines, rows

BADGES = {
    ClaimVerdict.REPRODUCED: "good",
    ClaimVerdict.WITHIN_FACTOR: "fair",
    ClaimVerdict.SAME_DIRECTION: "fair",
    ClaimVerdict.DIFFERS: "bad",
    ClaimVerdict.NOT_MEASURED: "quiet",
}


@dataclass(frozen=True, slots=True)
class ReproductionData:
    """Everything that the page shows."""

    claims: Claims
    """All claims of the papers, also those that were not asked for."""
    judged: Sequence[JudgedClaim]
    runs: Sequence[MeasuredExperiment]
    failed: Mapping[str, CellFailure] = field(default_factory=dict)
    """Runs that failed, by name."""


@dataclass(frozen=True, slots=True)
class PartView:
    """One number or statement of a claim, as the template shows it."""

    name: str
    published: str
    measured: str
    verdict: ClaimVerdict
    standing: str
    """Empty for a part that tests the claim."""
    interval: Markup


@dataclass(frozen=True, slots=True)
class ClaimView:
    """One claim, as the template shows it."""

    claim: Claim
    verdict: ClaimVerdict
    provisional: bool
    """True where the verdict comes from a smaller form of the scenario."""
    standing: str
    """Empty for a claim that counts."""
    smaller: str
    changed: str
    remarks: list[str]
    parts: list[PartView]


@dataclass(frozen=True, slots=True)
class FigureView:
    """A figure of the paper, drawn from the runs."""

    name: str
    plot: Markup


@dataclass(frozen=True, slots=True)
class ScenarioView:
    """The scenarios that some claims have in common, with these claims."""

    files: list[str]
    links: Mapping[str, str]
    """From each file to its address, relative to the page."""
    quick_form: str
    """The fields that were set to make the scenarios smaller; empty where they ran as they are."""
    effort: str
    figures: list[FigureView]
    claims: list[ClaimView]


@dataclass(frozen=True, slots=True)
class PaperView:
    """One paper: its counts and its claims."""

    paper: Paper
    counts: Counter[ClaimVerdict]
    """Verdicts on the claims that test the system."""
    untested: Counter[Standing]
    """Claims that are counted apart."""
    total: int
    scenarios: list[ScenarioView]
    without_scenario: list[ClaimView]


def build_report(data: ReproductionData, directory: Path) -> Path:
    """Writes `report/index.html` in a reproduction's directory and returns its path."""
    target = directory / REPORT
    target.parent.mkdir(parents=True, exist_ok=True)
    replace_file(target, render(data, target.parent).encode())
    return target


def render(data: ReproductionData, directory: Path) -> str:
    """The whole page as text. Links to scenarios start at `directory`."""
    templates = page_templates("studies.reproduction.report")
    papers = list(_papers(data, directory))
    totals = sum((paper.counts for paper in papers), Counter[ClaimVerdict]())
    runs = [run for _, found in data.runs for run in found]
    _, *warnings = closing_lines(data.judged, [run.result for run in runs])
    warnings += [f"{name} failed: {failure.message}" for name, failure in data.failed.items()]
    return templates.get_template("reproduction.html.j2").render(
        papers=papers,
        totals=totals,
        verdicts=list(ClaimVerdict),
        standings=[standing for standing in Standing if standing is not Standing.TESTED],
        badges=BADGES,
        headline=headline(totals),
        untested=sum((paper.untested for paper in papers), Counter[Standing]()),
        changes=changes(data),
        warnings=warnings,
        effort=_effort(runs),
    )


def headline(totals: Counter[ClaimVerdict]) -> str:
    """The outcome in one sentence, of the claims that test a system."""
    measured = sum(totals.values()) - totals[ClaimVerdict.NOT_MEASURED]
    if not measured:
        return "No claim has been measured yet."
    return (
        f"Of {measured} tested claims that were measured, {totals[ClaimVerdict.REPRODUCED]} are reproduced, "
        f"{totals[ClaimVerdict.WITHIN_FACTOR]} are within a factor of two, "
        f"{totals[ClaimVerdict.SAME_DIRECTION]} point in the same direction, and {totals[ClaimVerdict.DIFFERS]} differ."
    )


def changes(data: ReproductionData) -> list[str]:
    """The fields that the user set in the scenarios, each once."""
    return sorted({f"{name}={value}" for experiment, _ in data.runs for name, value in experiment.changed.items()})


def _papers(data: ReproductionData, directory: Path) -> Iterator[PaperView]:
    judged = {judgement.claim.id: judgement for judgement in data.judged}
    for paper in data.claims.papers.values():
        of_paper = [claim for claim in data.claims.claims if claim.paper == paper.id]
        shown = [judged.get(claim.id) or judge(claim, []) for claim in of_paper]
        yield PaperView(
            paper=paper,
            counts=Counter(judgement.verdict for judgement in shown if _counts(judgement)),
            untested=Counter(judgement.claim.standing for judgement in shown if not _counts(judgement)),
            total=len(of_paper),
            scenarios=list(_scenarios(shown, data, directory)),
            without_scenario=[_claim(judgement) for judgement in shown if judgement.claim.measured_by is None],
        )


def _counts(judgement: JudgedClaim) -> bool:
    return judgement.claim.standing is Standing.TESTED


def _scenarios(shown: Sequence[JudgedClaim], data: ReproductionData, directory: Path) -> Iterator[ScenarioView]:
    """The claims of one paper by the scenarios that they are measured in."""
    groups: dict[tuple[str, ...], list[JudgedClaim]] = {}
    for judgement in shown:
        if judgement.claim.measured_by is not None:
            groups.setdefault(judgement.claim.measured_by.scenarios, []).append(judgement)
    drawn: set[str] = set()
    for files, claims in groups.items():
        runs = [(experiment, found) for experiment, found in data.runs if experiment.scenario in files]
        yield ScenarioView(
            files=list(files),
            links={file: os.path.relpath(SCENARIOS / file, directory) for file in files},
            quick_form=_quick_form([experiment for experiment, _ in runs]),
            effort=_effort([run for _, found in runs for run in found]),
            figures=[
                figure
                for experiment, found in runs
                if experiment.scenario not in drawn
                for figure in _figures(experiment, found)
            ],
            claims=list(map(_claim, claims)),
        )
        drawn |= set(files)


def _quick_form(experiments: Sequence[Experiment]) -> str:
    """The fields of smaller forms and their values, each once."""
    fields = {f"{name}: {value}": None for experiment in experiments for name, value in experiment.quick_form.items()}
    return ", ".join(fields)


def _figures(experiment: Experiment, found: Sequence[MeasuredCell]) -> Iterator[FigureView]:
    for number, recipe in enumerate(experiment.figures):
        seeds = [drawn for run in found for drawn in run.result.figures if drawn.figure == recipe.figure]
        if seeds:
            name = f"figure-{experiment.scenario.replace('/', '-').removesuffix('.yaml')}-{number}"
            yield FigureView(recipe.figure, embedded(paper_figure(seeds, recipe.published), name))


def _claim(judgement: JudgedClaim) -> ClaimView:
    texts = list(rows(judgement))[-len(judgement.parts) :]
    drawing = _no_interval if judgement.claim.kind is ClaimKind.PROPERTY else _interval
    return ClaimView(
        claim=judgement.claim,
        verdict=judgement.verdict,
        provisional=judgement.from_quick_form,
        standing="" if _counts(judgement) else judgement.claim.standing.value,
        smaller=judgement.smaller,
        changed=judgement.changed,
        remarks=list(remarks(judgement)),
        parts=[
            PartView(
                name=part.name,
                published=text[2],
                measured=text[3],
                verdict=part.verdict,
                standing="" if part.standing is Standing.TESTED else part.standing.value,
                interval=drawing(part),
            )
            for part, text in zip(judgement.parts, texts, strict=True)
        ],
    )


def _interval(part: JudgedPart) -> Markup:
    return Markup(interval_drawing(part))  # noqa: S704 - made by ElementTree, which escapes what is in it


def _no_interval(_: JudgedPart) -> Markup:
    """The count of violations says everything about a property."""
    return Markup("")


def _effort(runs: Sequence[MeasuredCell]) -> str:
    """Number of runs and their processor time."""
    if not runs:
        return "no run"
    number = count_of(len(runs), "run")
    return f"{number}, {duration(sum(run.cpu_seconds for run in runs))} of processor time"
