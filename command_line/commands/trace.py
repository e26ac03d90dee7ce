"""`brokerlab trace`: journeys of publications as a file for a trace viewer."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from analysis.trace import Choice, make_trace
from command_line.commands.progress import shown_progress
from record.exit_codes import ExitCode
from record.wording import count_of


def trace_run(run: Path, choice: Choice, target: Path) -> ExitCode:
    """Writes the file, and prints what is in it. Raises `UserError`s."""
    console = Console(highlight=False)
    with shown_progress(console, "drawing journeys"):
        made = make_trace(run, choice, target)
    console.print(
        f"trace: {target} ({made.bytes / 1e6:.1f} MB): {count_of(made.publications, 'publication')} of the variant "
        f"{made.variant}, {count_of(made.slices, 'slice')} and {count_of(made.flows, 'flow')}, from "
        f"{count_of(made.records, 'record')} of the logs",
        markup=False,
        soft_wrap=True,
    )
    return ExitCode.CORRECT
