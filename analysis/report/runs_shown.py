"""The runs that a page shows: their names, their settings, and the sentences that head the page."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from analysis.report.data import ReportData
from analysis.report.sentences.headline import Headline, headline
from analysis.report.sentences.settings import what_was_run
from analysis.report.side_by_side import run_labels
from record.files import REPORT
from scenario.yaml_files.source import as_yaml


@dataclass(frozen=True)
class TraceShown:
    """A link to a file of journeys."""

    variant: str
    publications: int
    megabytes: float
    file: str
    """Name of the file."""
    address: str


@dataclass(frozen=True)
class RunShown:
    """One run of a page."""

    label: str
    run_id: str
    facts: list[tuple[str, str]]
    """Rows of the run's settings, each a name and a value."""
    scenario: str
    """The resolved scenario, in YAML."""
    files: str
    """The run's directory, as links of the page begin."""
    traces: list[TraceShown]
    """Files with the run's worst journeys; empty before its report was written."""


@dataclass(frozen=True)
class RunsShown:
    """All runs of a page."""

    title: str
    headline: Headline
    descriptions: list[str]
    """The descriptions of the runs' scenarios, each once."""
    runs: list[RunShown]


def runs_shown(runs: Sequence[ReportData], page: Path) -> RunsShown:
    """The runs of a page that is to be written to a file. The headline of several is one sentence of each."""
    labels = run_labels([run.run for run in runs])
    shown = [
        RunShown(
            label=label,
            run_id=run.run.run_id,
            facts=what_was_run(run),
            scenario=as_yaml(run.run.scenario, indent=2),
            files=os.path.relpath(run.directory, page.parent),
            traces=_traces(run, page),
        )
        for label, run in zip(labels, runs, strict=True)
    ]
    described = dict.fromkeys(str(run.run.scenario.get("description") or "") for run in runs)
    return RunsShown(
        title=", ".join(labels), headline=_headline(labels, runs), descriptions=[*filter(None, described)], runs=shown
    )


def _traces(run: ReportData, page: Path) -> list[TraceShown]:
    directory = (run.directory / REPORT).parent
    return [
        TraceShown(
            variant=worst.variant,
            publications=worst.publications,
            megabytes=len(worst.content) / 1e6,
            file=worst.file,
            address=os.path.relpath(directory / worst.file, page.parent),
        )
        for worst in run.notable.worst
        if (directory / worst.file).exists()
    ]


def _headline(labels: Sequence[str], runs: Sequence[ReportData]) -> Headline:
    if len(runs) == 1:
        return headline(runs[0])
    leads = [f"{label}: {headline(run).lead}" for label, run in zip(labels, runs, strict=True)]
    return Headline(f"{len(runs)} runs, each judged by itself.", leads)
