"""Commands about runs that there are: runs, open."""
# ruff: noqa: PLC0415

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from command_line.help import BAD_INPUT, HOST, epilog
from command_line.options.shared import RunArgument
from record.exit_codes import ExitCode

app = typer.Typer()


@app.command(
    epilog=epilog(
        "brokerlab runs",
        "brokerlab runs --in results --json",
        codes={ExitCode.CORRECT: "listed, whatever the verdicts"} | BAD_INPUT | HOST,
        note="Other commands take a run by its path, as `latest`, by its scenario's name for the last one of that "
        "scenario, or by the beginning or the last four letters of its name, if it is in `runs`.",
    )
)
def runs(
    *,
    directory: Annotated[Path, typer.Option("--in", metavar="DIR", help="The directory of the runs.")] = Path("runs"),
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """List runs, the latest first: verdicts, runtime, age and size."""
    from command_line.commands import runs as commands

    raise typer.Exit(commands.list_runs(directory, commands.as_json if json else commands.as_table))


@app.command(
    "open",
    epilog=epilog(
        "brokerlab open latest",
        "brokerlab open quickstart",
        codes={ExitCode.CORRECT: "shown, or its path printed where there is no browser"} | BAD_INPUT,
    ),
)
def open_(run: RunArgument) -> None:
    """Show a run's report in the browser."""
    from command_line.commands.open import open_run

    raise typer.Exit(open_run(run))
