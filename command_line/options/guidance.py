"""Commands about the command line itself."""
# ruff: noqa: PLC0415

from __future__ import annotations

from typing import Annotated, Literal

import typer

from command_line.help import BAD_INPUT, epilog
from record.exit_codes import ExitCode

app = typer.Typer()


@app.command(name="help", epilog=epilog("brokerlab help exit-codes", codes={ExitCode.CORRECT: "printed"} | BAD_INPUT))
def explain(
    topic: Annotated[
        Literal["exit-codes"],
        typer.Argument(help="exit-codes: the codes with which all commands end.", show_choices=False),
    ],
) -> None:
    """Explain what all commands have in common. `brokerlab COMMAND --help` explains one of them."""
    from command_line.commands.help import explain_exit_codes

    assert topic == "exit-codes"
    raise typer.Exit(explain_exit_codes())


@app.command(
    epilog=epilog(
        'eval "$(brokerlab completion bash)"',
        "brokerlab completion fish > ~/.config/fish/completions/brokerlab.fish",
        codes={ExitCode.CORRECT: "printed"} | BAD_INPUT,
    )
)
def completion(
    shell: Annotated[Literal["bash", "zsh", "fish"], typer.Argument(help="bash, zsh or fish.", show_choices=False)],
) -> None:
    """Print the script by which a shell completes commands, options, scenarios, runs, protocols and claims."""
    from command_line.commands.completion import print_script

    raise typer.Exit(print_script(shell))
