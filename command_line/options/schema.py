"""The command about schemas of files."""
# ruff: noqa: PLC0415

from __future__ import annotations

from typing import Annotated, Literal

import typer

from command_line.help import BAD_INPUT, epilog
from record.exit_codes import ExitCode

app = typer.Typer()


@app.command(
    epilog=epilog(
        "brokerlab schema scenario > scenario.schema.json",
        codes={ExitCode.CORRECT: "printed"} | BAD_INPUT,
    )
)
def schema(
    kind: Annotated[
        Literal["scenario", "campaign", "conformance"],
        typer.Argument(help="scenario, campaign or conformance.", show_choices=False),
    ],
) -> None:
    """Print the JSON Schema of a kind of file, for editors that complete and check YAML.

    A comment in a file names its schema: `# yaml-language-server: $schema=scenario.schema.json`.
    """
    from command_line.commands.schema import print_schema

    raise typer.Exit(print_schema(kind))
