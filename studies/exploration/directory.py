"""The directory of an exploration: a scenario for each finding, which repeats it byte for byte."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

from record.files import replace_file
from scenario.model import Scenario
from scenario.yaml_files.source import as_yaml
from studies.conformance.protocols import rows_of
from studies.exploration.findings import Finding
from studies.exploration.judged_run import Kind

_SIGNS: Mapping[str, str] = {
    Kind.NO_QUIET: "the line `messages were still in flight when the drain phase ended`, which is no verdict",
    Kind.CIRCLES: "a large `hops` in the logs of the run; if no broker fails, there is no verdict on it",
    Kind.NO_END: "a run that takes long or never ends; end it with Ctrl-C",
    Kind.PROCESS_ENDED: "the end of the command without a verdict, because it simulates the run in its own process",
}
"""The sign, in a repeated run, of a kind of defect that is none of the judge's verdicts."""


def scenario_of(name: str, directory: Path) -> Path:
    """The file of a finding's scenario."""
    return directory / name / "scenario.yaml"


def found_of(name: str, directory: Path) -> Path:
    """The file of the scenario as it was before it was shrunk."""
    return directory / name / "found.yaml"


def case_of(name: str, directory: Path) -> Path:
    """The file of a finding's conformance case, where it has one."""
    return directory / name / "case.json"


def write_finding(finding: Finding, directory: Path) -> None:
    """Writes the scenario of a finding below a directory, shrunk and as found, and its case."""
    path = scenario_of(finding.name, directory)
    path.parent.mkdir(parents=True, exist_ok=True)
    _write(finding.found, found_of(finding.name, directory))
    _write(finding.scenario, path)
    if finding.case:
        replace_file(case_of(finding.name, directory), finding.case.encode())


def repeat_command(scenario: Path) -> str:
    """The command that repeats a finding."""
    return shlex.join(["brokerlab", "emulate", str(scenario), "--runtime", "simulated"])


def sign_of(finding: Finding) -> str:
    """The sign of the finding in a repeated run where its verdict does not name it; empty where it does."""
    return _SIGNS.get(finding.cause.kind, "")


def case_command(finding: Finding, directory: Path) -> str:
    """The command that runs a finding's conformance case on its protocol."""
    row = next(iter(rows_of(finding.scenario.routing.protocol)))
    case = case_of(finding.name, directory)
    return shlex.join(["brokerlab", "conformance", str(case), "--protocol", row.selected_by])


def repeat_lines(finding: Finding, directory: Path) -> Iterator[str]:
    """The commands that show a finding again, and the sign to look for."""
    yield f"again: {repeat_command(scenario_of(finding.name, directory))}"
    if sign := sign_of(finding):
        yield f"look for: {sign}"
    if finding.case:
        yield f"as a case: {case_command(finding, directory)}"


def _write(scenario: Scenario, path: Path) -> None:
    replace_file(path, as_yaml(scenario.resolved(), indent=2).encode() + b"\n")
