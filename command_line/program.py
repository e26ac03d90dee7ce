"""The program: its commands and its exit code.

Each command loads its modules when it runs, so that `brokerlab --help` answers at once.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable
from functools import cache
from typing import Annotated, Any

import typer
from typer.main import get_command

from command_line.completions import answer_shells
from command_line.exits import ending, write_out
from command_line.help import HELP_OPTIONS, exit_codes
from command_line.options import (
    baselines,
    examples,
    exploration,
    guidance,
    held,
    host,
    hosts,
    moves,
    protocol,
    runs,
    saturation,
    schema,
    stored_runs,
    studies,
    topology,
    workload,
)
from command_line.usage import CommandGroup
from emulation.host.signals import like_ctrl_c
from record.exit_codes import ExitCode

app = typer.Typer(
    name="brokerlab",
    cls=CommandGroup,
    help="A testbed for content-based publish/subscribe broker overlays: emulates an overlay from one scenario file, "
    "analyses what happened to every message, and judges both delivery and the emulation itself.",
    epilog=exit_codes({code: code.meaning for code in ExitCode}),
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings=HELP_OPTIONS,
    rich_markup_mode="rich",
)

_MADE_BEFORE_COLLECTION = 50_000
"""Objects made before the garbage collector looks at them. Python's 700 have it look again and again at what modules
make and keep while they are loaded: a tenth of a short run's processor time."""

for _commands in (
    runs,
    held,
    moves,
    stored_runs,
    baselines,
    examples,
    schema,
    studies,
    saturation,
    exploration,
    host,
    topology,
    workload,
    hosts,
    protocol,
    guidance,
):
    app.add_typer(_commands.app)


@cache
def command() -> Callable[..., Any]:
    """The program's commands as they are run, which a process makes once, because that takes 50 ms."""
    return get_command(app)


def run() -> int:
    """Runs the command line; returns its exit code. A user's mistake is one line, never a stack trace."""
    gc.set_threshold(_MADE_BEFORE_COLLECTION)
    _have_standard_streams()
    answer_shells()
    with like_ctrl_c():
        try:
            command()(prog_name="brokerlab")
            code: int = ExitCode.CORRECT
        except BaseException as error:
            code = ending(error)
    return write_out(code)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version  # noqa: PLC0415

        from emulation.host.provenance import git_revision  # noqa: PLC0415

        revision = git_revision()
        commit = "" if revision is None else f" (commit {_short(revision)})"
        typer.echo(f"brokerlab {version('brokerlab')}{commit}")
        raise typer.Exit


def _short(revision: str) -> str:
    """A commit by its first digits, with its mark that files differ from it."""
    commit, changed, _ = revision.partition("+")
    return f"{commit[:12]}{', changed' if changed else ''}"


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Options that need no command."""


def _have_standard_streams() -> None:
    """Makes standard streams usable: characters outside the encoding are escaped, closed streams discard output.

    A closed descriptor would otherwise be reused by the next file that is opened, which would receive the output.
    """
    for number, mode in ((0, "r"), (1, "w"), (2, "w")):
        name = ("stdin", "stdout", "stderr")[number]
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free: this one
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 - stays open
    for stream in (sys.stdout, sys.stderr):
        if (reconfigure := getattr(stream, "reconfigure", None)) is not None:
            reconfigure(errors="backslashreplace")
