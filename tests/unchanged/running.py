"""One shipped scenario or campaign, run in the simulator through the command line, as a user runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.unchanged.shipped import CHANGES, ROOT, is_campaign

COMMAND_LINE = "command_line"
"""The module that `python -m` starts as `brokerlab`."""
PRINTED = "printed.txt"
"""The file with all that the command printed, less the words that differ from run to run, and with its exit code."""

_JUDGED = (0, 1, 3)
"""The exit codes of a run that came to its verdicts: correct, a delivery violated, an emulation that did not hold."""
_PROGRESS = "["
"""Beginning of lines that show progress. They are left out because they depend on the speed of this host."""
_COLUMNS = "120"
"""The width of the lines that are printed."""


class RunError(Exception):
    """The command came to no verdict."""


def run_shipped(file: str, directory: Path) -> None:
    """Runs the scenario or the campaign. Raises `RunError`.

    Afterwards `directory`, which must not be there yet, holds `printed.txt` and one directory: that of the run, or of
    the campaign.
    """
    directory.mkdir(parents=True)
    directory = directory.resolve()
    ended = subprocess.run(
        [sys.executable, "-m", COMMAND_LINE, *_arguments(file, directory)],
        cwd=ROOT,
        env=_environment(),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    if ended.returncode not in _JUDGED:
        raise RunError(f"exit code {ended.returncode}\n{ended.stdout}{ended.stderr}")
    printed = _lasting(ended.stdout, directory) + f"exit code {ended.returncode}\n"
    (directory / PRINTED).write_text(printed, encoding="utf-8")


def made_by(directory: Path) -> Path:
    """The directory of the run, or of the campaign, that `run_shipped` has put into `directory`."""
    (made,) = (path for path in directory.iterdir() if path.is_dir())
    return made


def _arguments(file: str, directory: Path) -> list[str]:
    if is_campaign(file):
        place = directory / "campaign"
        return ["campaign", file, "--runtime", "simulated", "--jobs", "1", "--keep-runs", "none", "--out", str(place)]
    changes = [word for change in CHANGES.get(file, ()) for word in ("--set", change)]
    return [
        "emulate",
        file,
        "--runtime",
        "simulated",
        "--no-spark",
        "--no-report",
        "--events",
        "none",
        "--out",
        str(directory),
        *changes,
    ]


def _environment() -> dict[str, str]:
    """This process's environment, but the command prints to no terminal, where lines would change as time passes."""
    return {name: value for name, value in os.environ.items() if name != "FORCE_COLOR"} | {"COLUMNS": _COLUMNS}


def _lasting(printed: str, directory: Path) -> str:
    """The part of the output that the next run prints, too."""
    lines = [line for line in printed.splitlines(keepends=True) if not line.startswith(_PROGRESS)]
    return "".join(lines).replace(str(directory), "DIRECTORY").replace(made_by(directory).name, "RUN")
