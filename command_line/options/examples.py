"""The command about shipped files."""
# ruff: noqa: PLC0415

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from command_line.help import BAD_INPUT, HOST, epilog
from record.exit_codes import ExitCode

app = typer.Typer()


@app.command(
    epilog=epilog(
        "brokerlab examples",
        "brokerlab examples --copy experiments",
        "brokerlab emulate quickstart --runtime simulated",
        codes={ExitCode.CORRECT: "listed, or copied"} | BAD_INPUT | HOST,
    )
)
def examples(
    *,
    copy: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Copy them into this directory, to be changed.", show_default=False),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """List the scenarios and campaigns that come with brokerlab. Other commands take them by name."""
    from command_line.commands import examples as commands

    if copy is not None:
        raise typer.Exit(commands.copy_examples(copy))
    raise typer.Exit(commands.list_examples(commands.as_json if json else commands.as_table))
