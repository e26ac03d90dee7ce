"""`brokerlab report`: the page of an analysed run, made again, or one page for several runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from analysis.report import build_joint_report, build_report
from command_line.commands.progress import shown_progress
from command_line.commands.run_engines import processes_here
from record.errors import BadInputError
from record.exit_codes import ExitCode

_JOINT = Path("report.html")
"""The page of several runs, where the user names no file."""


def report_runs(runs: Sequence[Path], out: Path | None) -> ExitCode:
    """`brokerlab report`: makes the page of analysed runs. Raises `UserError`s."""
    console = Console(highlight=False)
    if twice := [str(run) for run, number in Counter(run.resolve() for run in runs).items() if number > 1]:
        raise BadInputError(f"RUN: {twice[0]} is named twice; name each run once")
    if len(runs) == 1 and out is None:
        with shown_progress(console, "drawing the report"):
            page = build_report(runs[0], processes_here())
    else:
        page = out or _JOINT
        with shown_progress(console, "drawing the report"):
            try:
                build_joint_report(runs, page, processes_here())
            except OSError as error:
                raise BadInputError(f"--out {page}: cannot be written: {error.strerror}") from error
    console.print(f"report: {page}", markup=False, soft_wrap=True)
    return ExitCode.CORRECT
