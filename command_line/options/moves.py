"""The command by which clients of a held run move."""
# ruff: noqa: PLC0415

from __future__ import annotations

from typing import Annotated

import typer

from command_line.completions import goal_names, host_names
from command_line.help import BAD_INPUT, HOST, epilog
from command_line.options.held import PANEL, RunOption
from record.exit_codes import ExitCode
from record.handover import Handover

app = typer.Typer()


@app.command(
    rich_help_panel=PANEL,
    epilog=epilog(
        "brokerlab move berlin B7",
        "brokerlab move berlin B7 --handover announced",
        "brokerlab move berlin B7 --away 5s",
        "brokerlab move S1 oslo --handover 'make before break' --overlap 2s",
        codes={ExitCode.CORRECT: "done"} | BAD_INPUT | HOST,
        note="The fields are those of `move` in a scenario's `faults` (docs/clients.md).",
    ),
)
def move(
    host: Annotated[
        str, typer.Argument(metavar="SITE|CLIENT", help="The site, or a client on a site.", autocompletion=host_names)
    ],
    goal: Annotated[
        str,
        typer.Argument(metavar="TO", help="The broker of a site, or the site of a client.", autocompletion=goal_names),
    ],
    *,
    handover: Annotated[Handover, typer.Option(help="The way in which clients leave.")] = Handover.UNANNOUNCED,
    away: Annotated[
        str | None, typer.Option(metavar="DURATION", help="Time without any network.", show_default=False)
    ] = None,
    overlap: Annotated[
        str | None,
        typer.Option(metavar="DURATION", help="Time with both brokers, of `make before break`.", show_default=False),
    ] = None,
    run: RunOption = None,
) -> None:
    """Move clients of a held run to another broker now; they are judged as in a planned move."""
    from command_line.commands.move import move_clients

    given = {"handover": handover.value, "away": away, "overlap": overlap}
    settings = {name: value for name, value in given.items() if value is not None}
    raise typer.Exit(move_clients(run, host, goal, settings))
