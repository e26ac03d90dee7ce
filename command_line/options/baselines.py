"""`brokerlab baseline`: keeps figures of runs that later runs are held against."""
# ruff: noqa: PLC0415

from __future__ import annotations

from typing import Annotated

import typer

from command_line.help import BAD_INPUT, HELP_OPTIONS, epilog
from command_line.options.shared import RunsArgument
from record.exit_codes import ExitCode

app = typer.Typer(
    name="baseline",
    help="Keep figures of runs that later runs are held against.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    context_settings=HELP_OPTIONS,
)


@app.callback()
def _group() -> None:
    """Save figures of runs as a baseline that later runs are compared with."""


@app.command(
    epilog=epilog(
        "brokerlab baseline save smoke RUN RUN RUN",
        "brokerlab baseline save ci/smoke.yaml RUN",
        codes={ExitCode.CORRECT: "written"} | BAD_INPUT,
    )
)
def save(
    name: Annotated[str, typer.Argument(help="A name, for a file in ./baselines, or the path of a YAML file.")],
    runs: RunsArgument,
) -> None:
    """Write the figures of analysed runs of one plan, each with another seed, to a small text file."""
    from command_line.commands.baseline import save_baseline

    raise typer.Exit(save_baseline(name, runs))
