"""`brokerlab report`: the page of an analysed run, made again."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from analysis.report import build_report
from command_line.commands.progress import shown_progress
from record.exit_codes import ExitCode


def report_run(run: Path) -> ExitCode:
    """`brokerlab report`: makes the page of an analysed run. Raises `UserError`s."""
    console = Console(highlight=False)
    with shown_progress(console, "drawing the report"):
        page = build_report(run)
    console.print(f"report: {page}", markup=False, soft_wrap=True)
    return ExitCode.CORRECT
