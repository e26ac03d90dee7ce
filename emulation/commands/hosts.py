"""`brokerlab hosts`: prepares, checks and cleans the hosts of an inventory. What it does is in `hosts_actions`."""
# ruff: noqa: PLC0415

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    name="hosts",
    help="Hosts that share a run: an Ansible inventory names them, `brokerlab emulate --hosts` uses them.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

InventoryArgument = Annotated[
    Path, typer.Argument(metavar="INVENTORY", help="In any form that Ansible reads; docs/hosts.md has examples.")
]


@app.command(epilog="[bold]Example[/bold]\n\n  brokerlab hosts prepare inventory.yaml")
def prepare(inventory: InventoryArgument) -> None:
    """Give hosts all that a run needs: brokerlab's files, its packages, Docker and the broker image, kernel modules."""
    from emulation.commands.hosts_actions import prepare_hosts

    raise typer.Exit(prepare_hosts(inventory))


@app.command(epilog="[bold]Example[/bold]\n\n  brokerlab hosts check inventory.yaml")
def check(inventory: InventoryArgument) -> None:
    """Show what each host can run, and what stands in the way of it."""
    from emulation.commands.hosts_actions import check_hosts

    raise typer.Exit(check_hosts(inventory))


@app.command(epilog="[bold]Example[/bold]\n\n  brokerlab hosts clean inventory.yaml")
def clean(inventory: InventoryArgument) -> None:
    """Remove what dead runs have left on hosts, and end what waits for a controller that was killed."""
    from emulation.commands.hosts_actions import clean_hosts

    raise typer.Exit(clean_hosts(inventory))
