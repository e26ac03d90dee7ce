"""The command `explore`."""
# ruff: noqa: PLC0415

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from command_line.help import BAD_INPUT, HOST, INTERRUPTED, epilog
from command_line.options.shared import JsonOption, JunitOption, ScenarioArgument, answer, duration
from record.errors import BadInputError
from record.exit_codes import ExitCode

app = typer.Typer()

_SHORT = 60.0
"""Seconds that an exploration takes without `--for` and `--runs`."""


@app.command(
    epilog=epilog(
        "brokerlab explore scenarios/quickstart.yaml --for 10min",
        "brokerlab explore scenarios/gryphon-failure.yaml --for 10min --seed 7",
        "brokerlab explore scenarios/line-3.yaml --protocol my_router.py --for 1h",
        "brokerlab explore scenarios/line-3.yaml --runs 500 --workers 1",
        "brokerlab explore scenarios/line-3.yaml --protocol my_router.py --confirm container",
        codes={
            ExitCode.CORRECT: "nothing was found",
            ExitCode.VIOLATED: "something was found",
            ExitCode.BROKER_DEFECT: "only failures of a broker's own code were found",
        }
        | BAD_INPUT
        | HOST
        | INTERRUPTED,
        note="A finding repeats from its file. The same seed and number of runs with one worker explore the same. "
        "With the directory of an earlier exploration, `--out` goes on with it.",
    )
)
def explore(
    file: ScenarioArgument,
    *,
    for_: Annotated[
        str | None,
        typer.Option("--for", metavar="TIME", help="Time to explore; 1min without --runs.", show_default=False),
    ] = None,
    runs: Annotated[int | None, typer.Option(min=1, help="Number of runs.", show_default=False)] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all draws.")] = 0,
    protocol: Annotated[
        str | None,
        typer.Option(metavar="NAME|FILE", help="Routing protocol in place of the scenario's own.", show_default=False),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(min=1, max=256, help="Processes; one for each processor by default.", show_default=False),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Directory for findings; one below runs/explore by default.", show_default=False)
    ] = None,
    confirm: Annotated[
        str | None,
        typer.Option(
            metavar="RUNTIME",
            help="Try each finding ten times on real brokers: `container` or `process`.",
            show_default=False,
        ),
    ] = None,
    json: JsonOption = False,
    junit: JunitOption = None,
) -> None:
    """Search for schedules that break a protocol: random variations of a scenario, run in virtual time."""
    from command_line.commands.explore import ExplorationRequest, explore_around
    from studies.exploration.exploration import Budget

    seconds = _SHORT if for_ is None and runs is None else None
    if for_ is not None and not (seconds := duration("--for", for_)):
        raise BadInputError(f"--for {for_}: leaves no time for a run; write a time such as 10min")
    request = ExplorationRequest(
        file=file,
        budget=Budget(seconds, runs),
        seed=seed,
        protocol=protocol,
        workers=workers or len(os.sched_getaffinity(0)),
        out=out,
        confirm=confirm,
        junit=junit,
    )
    with answer(json) as form:
        raise typer.Exit(explore_around(request, form))
