"""The directory of an exploration: a scenario for each finding, which repeats it byte for byte."""

from __future__ import annotations

import shlex
from pathlib import Path

from record.files import replace_file
from scenario.model import Scenario
from scenario.yaml_files.source import as_yaml
from studies.exploration.findings import Finding


def write_finding(finding: Finding, directory: Path) -> Path:
    """Writes the scenario of a finding below a directory, shrunk and as found; returns the path of the former."""
    folder = directory / finding.name
    folder.mkdir(parents=True, exist_ok=True)
    _write(finding.found, folder / "found.yaml")
    return _write(finding.scenario, folder / "scenario.yaml")


def repeat_command(scenario: Path) -> str:
    """The command that repeats a finding."""
    return shlex.join(["brokerlab", "emulate", str(scenario), "--runtime", "simulated"])


def _write(scenario: Scenario, path: Path) -> Path:
    replace_file(path, as_yaml(scenario.resolved(), indent=2).encode() + b"\n")
    return path
