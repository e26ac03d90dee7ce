"""`brokerlab help`: what is true of all commands, once."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from record.exit_codes import ExitCode


def explain_exit_codes() -> ExitCode:
    """Prints the exit codes of all commands."""
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(justify="right")
    table.add_column()
    for code in ExitCode:
        table.add_row(str(code.value), code.meaning)
    Console(highlight=False).print(table)
    return ExitCode.CORRECT
