"""`brokerlab hosts`: prepares, checks and cleans the hosts of an inventory."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from emulation.ansible import PlayCancelledError, Played, TaskResult, play
from emulation.host.room import Host, shared_by
from emulation.multi_host.check import Facts
from emulation.multi_host.connection import connections
from emulation.multi_host.inventory import Hosts, read_hosts
from emulation.multi_host.product import pack
from emulation.multi_host.run import check_variables, clean_variables, examined
from emulation.run.interrupt import Interrupt, Interrupted
from emulation.upkeep.clean import clean
from record.exit_codes import ExitCode
from record.host_speed import LoopTimes, slowest_of


@dataclass(frozen=True, slots=True)
class _Stage:
    """The inputs of plays on all hosts of an inventory."""

    hosts: Hosts
    product: str
    """The name of its directory on hosts."""
    archive: Path
    console: Console
    private: Path
    connection: Mapping[str, object]
    interrupt: Interrupt

    def play(self, playbook: str, variables: Mapping[str, Any]) -> Played:
        """Runs a playbook and prints each new task on a line. Raises `PlayError`."""
        printed: set[str] = set()

        def print_new(result: TaskResult) -> None:
            if result.task not in printed:
                printed.add(result.task)
                self.console.print(f"  {result.task}", markup=False, style="dim")

        return play(
            playbook,
            self.hosts.inventory,
            self.private / "ansible",
            {"product": self.product, "archive": str(self.archive), **self.connection, **variables},
            on_result=print_new,
            cancelled=lambda: self.interrupt.asked,
        )


@contextmanager
def _stage(inventory: Path) -> Iterator[_Stage]:
    """Prepares plays on the hosts. Raises `BadInputError` for a file that is not an inventory."""
    with tempfile.TemporaryDirectory(prefix="hosts-") as directory, Interrupt() as interrupt:
        private = Path(directory)
        hosts = read_hosts(inventory, private / "ansible")
        product = pack()
        archive = private / "product.tar.gz"
        archive.write_bytes(product.content)
        with connections(private / "ssh") as connection:
            console = Console(highlight=False)
            yield _Stage(hosts, product.name, archive, console, private, connection, interrupt)


def prepare_hosts(inventory: Path) -> ExitCode:
    """`brokerlab hosts prepare`."""
    with _stage(inventory) as stage:
        count = len(stage.hosts.members)
        stage.console.print(f"preparing {count} host{'s' if count != 1 else ''} (minutes the first time)")
        try:
            stage.play("prepare.yml", {})
        except PlayCancelledError:
            return _interrupted(stage.console)
        return _check(stage)


def check_hosts(inventory: Path) -> ExitCode:
    """`brokerlab hosts check`."""
    with _stage(inventory) as stage:
        return _check(stage)


def shared_host(inventory: Path, most: int) -> tuple[Host, LoopTimes]:
    """The room and the speed of the hosts that share an overlay, of which at most so many take part, as one host.

    Brokers are on all of them, so the slowest one's speed is that of all.

    Raises `UserError`s, and `Interrupted` where the user ended it.
    """
    with _stage(inventory) as stage:
        try:
            facts = examined(stage.play("check.yml", check_variables(stage.hosts, stage.hosts.members)))
        except PlayCancelledError as error:
            raise Interrupted from error
        found = [facts[member.name] for member in stage.hosts.members[:most]]
        return shared_by([host.room for host in found]), slowest_of(host.loops for host in found)


def clean_hosts(inventory: Path) -> ExitCode:
    """`brokerlab hosts clean`."""
    clean(None)  # what a killed command still plays on hosts
    with _stage(inventory) as stage:
        try:
            played = stage.play("clean.yml", clean_variables())
        except PlayCancelledError:
            return _interrupted(stage.console)
        for host, result in played.of("clean").items():
            stage.console.print(f"{host}: {result['stdout']}", markup=False, soft_wrap=True)
    return ExitCode.CORRECT


def _check(stage: _Stage) -> ExitCode:
    try:
        facts = examined(stage.play("check.yml", check_variables(stage.hosts, stage.hosts.members)))
    except PlayCancelledError:
        return _interrupted(stage.console)
    stage.console.print(_table(stage.hosts, facts))
    for host, fact in facts.items():
        for obstacle in fact.obstacles:
            stage.console.print(f"{host} cannot take part: {obstacle}", markup=False, soft_wrap=True)
        for rung, obstacle in (("container", fact.container), *fact.links.items()):
            if obstacle:
                stage.console.print(f"{host}: {rung} does not work: {obstacle}", markup=False, soft_wrap=True)
    return ExitCode.HOST if any(fact.obstacles for fact in facts.values()) else ExitCode.CORRECT


def _table(hosts: Hosts, facts: Mapping[str, Facts]) -> Table:
    table = Table("host", "address", "runtime", "links", "takes part", box=None, pad_edge=False)
    for member in hosts.members:
        found = facts[member.name]
        links = next((name for name, obstacle in found.links.items() if not obstacle), "none")
        ready = Text("no", style="red") if found.obstacles else Text("yes", style="green")
        table.add_row(member.name, member.address, "process" if found.container else "container", links, ready)
    return table


def _interrupted(console: Console) -> ExitCode:
    console.print("interrupted; what was begun can be repeated")
    return ExitCode.INTERRUPTED
