"""`brokerlab topology multicast`: next hops that MEDYM's functions choose, without running anything."""
# ruff: noqa: PLC0415

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from command_line.help import BAD_INPUT, epilog
from record.exit_codes import ExitCode

app = typer.Typer()


@app.command(
    epilog=epilog(
        "brokerlab topology multicast delays.csv --server B1 --destinations B2,B5,B7",
        "brokerlab topology multicast delays.csv --server B1 --destinations all --algorithm mst --json",
        "brokerlab topology multicast delays.csv --server B1 --destinations B2,B3 --algorithm balanced --overloaded B2",
        codes={ExitCode.CORRECT: "printed"} | BAD_INPUT,
    )
)
def multicast(
    distances: Annotated[
        Path,
        typer.Argument(
            metavar="DISTANCES.csv",
            help="A square of numbers below a row of names, in any unit, as `brokerlab topology make --out` writes it.",
        ),
    ],
    *,
    server: Annotated[str, typer.Option(metavar="NAME", help="The server that forwards an event.")],
    destinations: Annotated[
        list[str],
        typer.Option(metavar="NAME,...", help="Its destination list: names of servers, or `all`; may be repeated."),
    ],
    algorithm: Annotated[
        str, typer.Option(help="mst, close (CloseMST) or balanced (BalancedMST, which avoids overloaded servers).")
    ] = "close",
    candidates: Annotated[
        int, typer.Option(min=1, help="Closest destinations of which close and balanced make a spanning tree.")
    ] = 16,
    overloaded: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME,...",
            help="Servers that balanced does not choose if it can; may be repeated.",
            show_default=False,
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON: lists by next hop, and the cost.")] = False,
) -> None:
    """Split a destination list as a MEDYM server does, and sum up the distances of all messages that follow from it."""
    from command_line.commands import multicast as commands

    request = commands.MulticastRequest(
        file=distances,
        server=server,
        destinations=tuple(destinations),
        algorithm=algorithm,
        candidates=candidates,
        overloaded=tuple(overloaded or ()),
    )
    raise typer.Exit(commands.show(request, commands.as_json if json else commands.as_table))
