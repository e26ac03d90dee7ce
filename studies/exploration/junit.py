"""The findings of an exploration as JUnit cases, for continuous integration."""

from __future__ import annotations

from pathlib import Path

from studies.exploration.directory import repeat_lines
from studies.exploration.exploration import Account
from studies.exploration.findings import Finding
from studies.junit import JunitCase, JunitOutcome, JunitSuite


def suite_of(title: str, account: Account, directory: Path) -> JunitSuite:
    """One case for each finding that failed; a single one that passed where there is none."""
    cases = [_case(title, finding, directory) for finding in account.findings.values()]
    properties = {"runs": str(account.runs), "kinds of behaviour": str(len(account.seen))}
    return JunitSuite(title, cases or [JunitCase(name="explored", class_name=title)], properties, account.seconds)


def _case(title: str, finding: Finding, directory: Path) -> JunitCase:
    details = [f"{defect.kind}: {defect.detail}" for defect in finding.defects]
    details += [*finding.moments, *filter(None, [finding.confirmed]), *repeat_lines(finding, directory)]
    return JunitCase(
        name=finding.name,
        class_name=title,
        kind=JunitOutcome.FAILED,
        message=finding.cause.in_words(),
        text="\n".join(details),
    )
