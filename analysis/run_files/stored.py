"""The runs that a directory holds, and the one that a user means by a short name."""

from __future__ import annotations

import re
from pathlib import Path

from record.errors import BadInputError
from record.files import MANIFEST

RUNS = Path("runs")
"""The directory in which runs make their own, unless the user names another one."""
LATEST = "latest"
_RUN_ID = re.compile(r"\d{8}T\d{6}Z-(?P<scenario>.+)-(?P<suffix>[0-9a-f]{4})")
_SHOWN = 4


def stored_runs(directory: Path = RUNS) -> list[Path]:
    """The run directories, the oldest first."""
    return sorted((manifest.parent for manifest in directory.glob(f"*/{MANIFEST}")), key=lambda run: run.name)


def run_of(given: str, directory: Path = RUNS) -> Path | None:
    """The run directory that is meant: by its path, as `latest`, by a scenario's name for that scenario's last run,
    by the last four letters of the run's name, or by the beginning of it. None where there is none of these.

    Raises `BadInputError` for what several runs begin with.
    """
    if Path(given).exists():
        return Path(given)
    runs = stored_runs(directory)
    if given == LATEST:
        return runs[-1] if runs else None
    if of_scenario := [run for run in runs if _part(run, "scenario") == given]:
        return of_scenario[-1]
    found = [run for run in runs if run.name.startswith(given) or _part(run, "suffix") == given]
    if len(found) > 1:
        names = ", ".join([*(run.name for run in found[:_SHOWN]), *(["..."] if len(found) > _SHOWN else [])])
        raise BadInputError(f"{given}: {len(found)} runs in {directory} begin so: {names}; write more of the name")
    return found[0] if found else None


def _part(run: Path, name: str) -> str | None:
    """A part of a run's name; None for a directory that its user has renamed."""
    found = _RUN_ID.fullmatch(run.name)
    return None if found is None else found[name]
