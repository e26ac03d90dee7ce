"""`brokerlab protocol`: makes a routing protocol of one's own, and checks it."""
# ruff: noqa: PLC0415

from __future__ import annotations

from typing import Annotated

import typer

from command_line.help import BAD_INPUT, HELP_OPTIONS, epilog
from command_line.options.shared import JsonOption, answer
from record.exit_codes import ExitCode

app = typer.Typer(
    name="protocol",
    help="Make a routing protocol of your own, and check it.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    context_settings=HELP_OPTIONS,
)
DEFECT = {ExitCode.BROKER_DEFECT: "the protocol's code failed; the message names the call and the line"}


@app.command(
    epilog=epilog(
        "brokerlab protocol new rendezvous",
        "brokerlab protocol new rendezvous --language go",
        codes={ExitCode.CORRECT: "made"} | BAD_INPUT,
    )
)
def new(
    name: Annotated[str, typer.Argument(help="Name of the protocol, and of the new directory.")],
    *,
    language: Annotated[str, typer.Option(help="Language of the router: python, node, go or java.")] = "python",
) -> None:
    """Write a protocol that works, a scenario that compares it with flooding and TID, and a test."""
    from command_line.commands.protocol import make_protocol

    make_protocol(name, language)


@app.command(
    epilog=epilog(
        "brokerlab protocol check rendezvous.py",
        "brokerlab protocol check rendezvous.py --faults",
        "brokerlab protocol check ./router",
        codes={ExitCode.CORRECT: "every case passed", ExitCode.VIOLATED: "some case failed"} | BAD_INPUT | DEFECT,
    )
)
def check(
    protocol: Annotated[
        str,
        typer.Argument(
            help="The Python file or package that declares the protocol, the program that is its router, or the "
            'program\'s command: `"program:java -cp . Rendezvous"`.'
        ),
    ],
    *,
    faults: Annotated[
        bool, typer.Option("--faults", help="Also cases in which brokers and links fail, and clients move.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Run the cases that every protocol has to pass, in the simulator, and say what is wrong."""
    from command_line.commands.protocol import check_protocol

    with answer(json) as form:
        raise typer.Exit(check_protocol(protocol, form, faults=faults))
