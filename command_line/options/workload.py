"""The commands about workloads."""
# ruff: noqa: PLC0415

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from command_line.help import BAD_INPUT, HELP_OPTIONS, epilog
from command_line.options.shared import SetOption, overrides
from record.exit_codes import ExitCode

app = typer.Typer(
    name="workload",
    help="Look at the load that a scenario makes, or a table of operations of your own.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    context_settings=HELP_OPTIONS,
)


@app.callback()
def workload() -> None:
    """Look at the load that a scenario makes, or a table of operations of your own."""


@app.command(
    epilog=epilog(
        "brokerlab workload show scenarios/quickstart.yaml",
        "brokerlab workload show scenarios/workloads/parking.yaml --json",
        "brokerlab workload show trace.parquet --set columns.time=ts --set unit=ms",
        codes={ExitCode.CORRECT: "shown"} | BAD_INPUT,
    )
)
def show(
    file: Annotated[
        Path,
        typer.Argument(
            help="A scenario's YAML file, the name of a shipped one (`brokerlab examples`), or a table: .parquet, "
            ".jsonl or .csv."
        ),
    ],
    *,
    set_: SetOption = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Show rates over time, sizes, matches, selectivity and popularity, from the plan and without a run.

    Of a table, --set gives fields of the section `workload`, such as columns.time=ts (docs/workloads.md).
    """
    from command_line.commands import workload as commands

    raise typer.Exit(commands.show_workload(file, overrides(set_), commands.as_json if json else commands.as_table))
