"""`brokerlab save`: the scenario that repeats what was done to a held run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from emulation.held.held_runs import held_run
from record import manifest
from record.errors import BadInputError
from record.exit_codes import ExitCode
from record.wording import count_of
from scenario.loading import load_text
from scenario.model import Scenario
from scenario.sections.units import DURATION


def save_scenario(name: str | None, directory: Path | None, out: Path) -> ExitCode:
    """Saves the scenario of a held run so far, or of one that has ended, given its directory. Raises `UserError`s."""
    if directory is None:
        run = held_run(name)
        directory, status = run.directory, run.status()
        scenario = _scenario(directory)
        lasts = max(status.passed - scenario.timeline.join, 1.0)
        timeline = scenario.timeline.model_copy(update={"run": round(lasts, 3)})
        scenario = scenario.model_copy(update={"timeline": timeline})
    else:
        scenario = _scenario(directory)
    text = as_text(scenario)
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise BadInputError(f"-o {out}: {error.strerror}; choose a file that can be written") from error
    operations, faults = len(scenario.workload.operations), len(scenario.faults)
    print(
        f"{out}: {count_of(operations, 'operation')} written out, {count_of(faults, 'fault')}, "
        f"a run phase of {DURATION.format(scenario.timeline.run)}"
    )
    return ExitCode.CORRECT


def as_text(scenario: Scenario) -> str:
    """A scenario as a file, without the fields that have their defaults."""
    short = _yaml(scenario.model_dump(mode="json", exclude_defaults=True, by_alias=True))
    return short if load_text(short, "the scenario") == scenario else _yaml(scenario.resolved())


def _yaml(fields: Mapping[str, Any]) -> str:
    return yaml.safe_dump(dict(fields), sort_keys=False, default_flow_style=None, width=120)


def _scenario(directory: Path) -> Scenario:
    """The scenario in a run's manifest. Raises `BadInputError`."""
    try:
        resolved = manifest.read(directory).scenario
    except (OSError, ValueError) as error:
        raise BadInputError(f"{directory}: no manifest of a run can be read there") from error
    return load_text(yaml.safe_dump(resolved), str(directory / "manifest.json"))
