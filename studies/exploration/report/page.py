"""The page: the account of an exploration, and each finding with its overlay and its schedule."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from analysis.report.offline_page import page_templates
from record.files import REPORT, replace_file
from scenario.model import Scenario
from scenario.sections.units import DURATION
from studies.exploration.directory import case_command, repeat_command, scenario_of, sign_of
from studies.exploration.exploration import Account
from studies.exploration.findings import Finding, targets_of
from studies.exploration.sentences import account_lines, rarest
from topology.drawings.drawing import to_svg

_MOST_ROWS = 60
"""Rows of one schedule that are shown."""


@dataclass(frozen=True, slots=True)
class ScheduleRow:
    """A fault or an operation."""

    at: str
    """Time since the start of the join phase."""
    is_fault: bool
    who: str
    what: str


@dataclass(frozen=True, slots=True)
class FindingView:
    """A finding, as the template shows it."""

    name: str
    cause: str
    defects: Sequence[tuple[str, str]]
    moments: Sequence[str]
    picture: Markup
    schedule: Sequence[ScheduleRow]
    left: int
    """Rows that are not shown."""
    again: str
    sign: str
    """The sign of it in a repeated run where its verdict does not name the finding; empty where it does."""
    case: str
    """The command that runs it as a conformance case; empty where there is none."""


def build_page(title: str, account: Account, directory: Path) -> Path:
    """Writes `report/index.html` of an exploration's directory and returns its path."""
    target = directory / REPORT
    target.parent.mkdir(exist_ok=True)
    page = page_templates("studies.exploration.report").get_template("exploration.html.j2")
    text = page.render(
        title=title,
        sentences=list(account_lines(account)),
        findings=[_view(finding, directory) for finding in account.findings.values()],
        rarest=list(rarest(account)),
    )
    replace_file(target, text.encode())
    return target


def _view(finding: Finding, directory: Path) -> FindingView:
    rows = sorted(_schedule(finding.scenario), key=lambda timed: timed[0])
    return FindingView(
        name=finding.name,
        cause=finding.cause.in_words(),
        defects=[(defect.kind, defect.detail) for defect in finding.defects],
        moments=[*finding.moments, *filter(None, [finding.confirmed])],
        picture=Markup(to_svg(finding.scenario.overlay())),  # noqa: S704 - names of brokers are escaped in it
        schedule=[row for _, row in rows[:_MOST_ROWS]],
        left=max(0, len(rows) - _MOST_ROWS),
        again=repeat_command(scenario_of(finding.name, directory)),
        sign=sign_of(finding),
        case=case_command(finding, directory) if finding.case else "",
    )


def _schedule(scenario: Scenario) -> Iterator[tuple[float, ScheduleRow]]:
    """Faults and operations, with their times in seconds."""
    for fault in scenario.faults:
        fields = fault.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"at", "after"})
        del fields[fault.verb]
        if fault.at is not None:
            at = fault.at.seconds + (scenario.timeline.join if fault.at.phase == "run" else 0.0)
            details = ", ".join(f"{name} {_spaced(value)}" for name, value in fields.items())
            what = f"{fault.verb} ({details})" if details else fault.verb
            yield at, ScheduleRow(_shown(at), True, targets_of(fault), what)
    for item in scenario.workload.operations:
        yield (
            item.at,
            ScheduleRow(_shown(item.at), False, f"{item.client} at {item.broker}", f"{item.verb} {item.text}"),
        )


def _shown(at: float) -> str:
    return f"{at:,.9f}".rstrip("0").rstrip(".") + " s"


def _spaced(value: object) -> object:
    """A duration in seconds, and everything else as it is."""
    try:
        return _shown(DURATION.parse(value))
    except ValueError:
        return value
