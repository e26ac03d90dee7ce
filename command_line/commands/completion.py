"""`brokerlab completion`: the script by which a shell completes commands, options and names."""

from __future__ import annotations

from typing import Literal

from typer.completion import get_completion_script  # type: ignore[attr-defined]  # Typer names no public one

from command_line.completions import VARIABLE
from record.exit_codes import ExitCode

Shell = Literal["bash", "zsh", "fish"]


def print_script(shell: Shell) -> ExitCode:
    """Prints the script, which asks the program itself for each completion."""
    print(get_completion_script(prog_name="brokerlab", complete_var=VARIABLE, shell=shell))
    return ExitCode.CORRECT
