"""`brokerlab hosts`: prepares, checks and cleans the hosts of an inventory."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from command_line.commands.answers import IN_WORDS, Answer
from command_line.commands.hosts_check import HostsCheck, print_check
from emulation.ansible import PlayCancelledError, Played, TaskResult, play
from emulation.host.room import Host, shared_by
from emulation.multi_host.connection import connections
from emulation.multi_host.inventory import Hosts, read_hosts
from emulation.multi_host.product import pack
from emulation.multi_host.run import check_variables, clean_variables, examined
from emulation.multi_host.self_test import SECONDS
from emulation.planning.plan import Plan, make_plan
from emulation.run.interrupt import Interrupt, Interrupted
from emulation.upkeep.clean import clean
from record.exit_codes import ExitCode
from record.host_speed import LoopTimes, slowest_of
from record.wording import count_of
from scenario.loading import load
from scenario.shipped import file_of


@dataclass(frozen=True, slots=True)
class HostsCheckRequest:
    """The user's request."""

    inventory: Path
    scenario: Path | None
    """The scenario whose run is asked about."""
    overrides: Mapping[str, str]


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
def _stage(inventory: Path, console: Console) -> Iterator[_Stage]:
    """Prepares plays on the hosts, whose tasks are printed on the console. Raises `BadInputError` for a file that is
    not an inventory."""
    with tempfile.TemporaryDirectory(prefix="hosts-") as directory, Interrupt() as interrupt:
        private = Path(directory)
        hosts = read_hosts(inventory, private / "ansible")
        product = pack()
        archive = private / "product.tar.gz"
        archive.write_bytes(product.content)
        with connections(private / "ssh") as connection:
            yield _Stage(hosts, product.name, archive, console, private, connection, interrupt)


def prepare_hosts(inventory: Path) -> ExitCode:
    """`brokerlab hosts prepare`."""
    with _stage(inventory, Console(highlight=False)) as stage:
        count = len(stage.hosts.members)
        stage.console.print(f"preparing {count_of(count, 'host')} (minutes the first time)")
        try:
            stage.play("prepare.yml", {})
        except PlayCancelledError:
            return _interrupted(stage.console)
        return _check(stage, None, IN_WORDS)


def check_hosts(request: HostsCheckRequest, answer: Answer) -> ExitCode:
    """`brokerlab hosts check`. Progress goes to the standard error output. Raises `UserError`s."""
    plan = None
    if request.scenario is not None:
        plan = make_plan(load(file_of(request.scenario, "scenario"), request.overrides))
    with _stage(request.inventory, Console(highlight=False, stderr=True)) as stage:
        return _check(stage, plan, answer)


def shared_host(inventory: Path, most: int) -> tuple[Host, LoopTimes]:
    """The room and the speed of the hosts that share an overlay, of which at most so many take part, as one host.

    Brokers are on all of them, so the slowest one's speed is that of all.

    Raises `UserError`s, and `Interrupted` where the user ended it.
    """
    with _stage(inventory, Console(highlight=False)) as stage:
        try:
            facts = examined(_examined(stage, {}))
        except PlayCancelledError as error:
            raise Interrupted from error
        weights = {member.name: member.weight for member in stage.hosts.members[:most]}
        room = shared_by({name: facts[name].room for name in weights}, weights)
        return room, slowest_of(facts[name].loops for name in weights)


def clean_hosts(inventory: Path) -> ExitCode:
    """`brokerlab hosts clean`."""
    clean(None)  # what a killed command still plays on hosts
    with _stage(inventory, Console(highlight=False)) as stage:
        try:
            played = stage.play("clean.yml", clean_variables())
        except PlayCancelledError:
            return _interrupted(stage.console)
        for host, result in played.of("clean").items():
            stage.console.print(f"{host}: {result['stdout']}", markup=False, soft_wrap=True)
    return ExitCode.CORRECT


def _examined(stage: _Stage, variables: Mapping[str, Any]) -> Played:
    return stage.play("check.yml", check_variables(stage.hosts, stage.hosts.members) | dict(variables))


def _check(stage: _Stage, plan: Plan | None, answer: Answer) -> ExitCode:
    """Examines and tests the hosts, and answers with what they carry: also of a plan, if there is one."""
    stage.console.print(f"testing each host for {SECONDS:g} s", markup=False)
    try:
        found = HostsCheck.of(stage.hosts.members, _examined(stage, {"self_test_seconds": SECONDS}), plan)
    except PlayCancelledError:
        return _interrupted(stage.console)
    print_check(answer.console, found)
    answer.document(found)
    return ExitCode.HOST if found.refused or any(host.obstacles for host in found.hosts) else ExitCode.CORRECT


def _interrupted(console: Console) -> ExitCode:
    console.print("interrupted; what was begun can be repeated")
    return ExitCode.INTERRUPTED
