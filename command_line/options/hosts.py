"""`brokerlab hosts`: prepares, checks and cleans the hosts of an inventory."""
# ruff: noqa: PLC0415

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from command_line.completions import scenario_names
from command_line.help import BAD_INPUT, HELP_OPTIONS, INTERRUPTED, epilog
from command_line.options.shared import JsonOption, SetOption, answer, overrides
from record.exit_codes import ExitCode

app = typer.Typer(
    name="hosts",
    help="Hosts that share a run: an Ansible inventory names them, `brokerlab emulate --hosts` uses them.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    context_settings=HELP_OPTIONS,
)

InventoryArgument = Annotated[
    Path, typer.Argument(metavar="INVENTORY", help="In any form that Ansible reads; docs/hosts.md has examples.")
]

_REFUSED = BAD_INPUT | {ExitCode.HOST: "some host lacks something or is unreachable; each is named"} | INTERRUPTED


@app.command(
    epilog=epilog(
        "brokerlab hosts prepare inventory.yaml",
        codes={ExitCode.CORRECT: "every host can take part"} | _REFUSED,
    )
)
def prepare(inventory: InventoryArgument) -> None:
    """Install everything that a run needs: brokerlab, its packages, Docker and the broker image, kernel modules."""
    from command_line.commands.hosts import prepare_hosts

    raise typer.Exit(prepare_hosts(inventory))


@app.command(
    epilog=epilog(
        "brokerlab hosts check inventory.yaml",
        "brokerlab hosts check inventory.yaml quickstart --set time_dilation=2",
        "brokerlab hosts check inventory.yaml --json",
        codes={
            ExitCode.CORRECT: "every host can take part, and they carry the scenario",
            ExitCode.HOST: "some host lacks something, is unreachable or carries less than its share; each is named",
        }
        | BAD_INPUT
        | INTERRUPTED,
    )
)
def check(
    inventory: InventoryArgument,
    scenario: Annotated[
        Path | None,
        typer.Argument(
            metavar="[SCENARIO]",
            help="A scenario whose shares are predicted, and refused where a host does not carry its own.",
            autocompletion=scenario_names,
        ),
    ] = None,
    *,
    settings: SetOption = None,
    json: JsonOption = False,
) -> None:
    """Show what each host can run, what is missing for the rest, and the load that it carries in a test of 5 s."""
    from command_line.commands.hosts import HostsCheckRequest, check_hosts

    with answer(json) as form:
        raise typer.Exit(check_hosts(HostsCheckRequest(inventory, scenario, overrides(settings)), form))


@app.command(
    epilog=epilog(
        "brokerlab hosts clean inventory.yaml",
        codes={ExitCode.CORRECT: "no remains of ended runs are left"} | _REFUSED,
    )
)
def clean(inventory: InventoryArgument) -> None:
    """Remove remains of ended runs from hosts, and end processes that wait for a killed controller."""
    from command_line.commands.hosts import clean_hosts

    raise typer.Exit(clean_hosts(inventory))
