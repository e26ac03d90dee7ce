"""The answer of `brokerlab hosts check`: the capabilities of each host, what it carries, and its share of a plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from command_line.commands.compare import widen
from emulation.ansible import Played
from emulation.multi_host.check import Facts, common
from emulation.multi_host.model import Member
from emulation.multi_host.placement import place_brokers
from emulation.multi_host.refusals import require_shareable
from emulation.multi_host.run import examined
from emulation.multi_host.self_test import SelfTest
from emulation.network.model import LinkDriver
from emulation.planning.calibration import load_calibration
from emulation.planning.plan import Plan
from emulation.prediction.rehearsal import rehearse
from emulation.prediction.shares import Capacity, ShareLoad, beyond, capacity, share_loads
from emulation.runtimes.ladder import AUTO
from record.errors import BadInputError


class CheckedHost(msgspec.Struct, frozen=True, kw_only=True):
    """One host."""

    name: str
    address: str
    weight: float
    runtime: str
    """The highest runtime that works there; likewise the links."""
    links: str
    obstacles: list[str]
    """Reasons why it cannot take part; empty if it can."""
    lacks: dict[str, str]
    """The obstacle to each runtime and to each kind of links that does not work there."""
    capacity: Capacity

    @classmethod
    def of(cls, member: Member, facts: Facts, able: Capacity) -> Self:
        lacks = {"container": facts.container, **facts.links}
        return cls(
            name=member.name,
            address=member.address,
            weight=member.weight,
            runtime="process" if facts.container else "container",
            links=next((name for name, obstacle in facts.links.items() if not obstacle), "none"),
            obstacles=facts.obstacles,
            lacks={name: obstacle for name, obstacle in lacks.items() if obstacle},
            capacity=able,
        )


class HostsCheck(msgspec.Struct, frozen=True, kw_only=True):
    """The whole answer."""

    hosts: list[CheckedHost]
    shares: list[ShareLoad]
    """The load of each host in each variant of the plan; empty without a plan."""
    refused: list[str]
    """Reasons why the hosts do not carry the plan, each with its remedy."""

    @classmethod
    def of(cls, members: Sequence[Member], played: Played, plan: Plan | None) -> Self:
        """The answer by what the hosts have found. Raises `UserError`s for a plan that cannot be on hosts at all."""
        facts = examined(played)
        tested = {
            host: msgspec.json.decode(result["stdout"], type=SelfTest)
            for host, result in played.of("test itself").items()
        }
        costs = load_calibration()
        ready = not any(found.obstacles for found in facts.values())
        links = LinkDriver(common(facts, AUTO, AUTO)[1]) if ready else LinkDriver.USERSPACE
        able = {
            member.name: capacity(facts[member.name].room, facts[member.name].loops, tested[member.name], links, costs)
            for member in members
        }
        hosts = [CheckedHost.of(member, facts[member.name], able[member.name]) for member in members]
        shares, refused = [], []
        for variant in () if plan is None else plan.variants:
            used = members[: len(variant.overlay.brokers)]
            placement = place_brokers(variant.overlay, used)
            require_shareable(variant, placement)
            if variant.foreign is not None:
                raise BadInputError("brokers of your own cannot be rehearsed in virtual time: leave the scenario out")
            loads = share_loads(
                variant, rehearse(variant, costs), costs, placement, {member.name: able[member.name] for member in used}
            )
            shares += loads
            refused += [why for load in loads for why in beyond(load, able[load.host], variant.scenario.dilation)]
        return cls(hosts=hosts, shares=shares, refused=refused)


def print_check(console: Console, found: HostsCheck) -> None:
    """Prints tables and sentences."""
    widen(console)
    console.print(_hosts(found.hosts))
    for host in found.hosts:
        for obstacle in host.obstacles:
            console.print(f"{host.name} cannot take part: {obstacle}", markup=False, soft_wrap=True)
        for name, obstacle in host.lacks.items():
            console.print(f"{host.name}: {name} does not work: {obstacle}", markup=False, soft_wrap=True)
    if found.shares:
        console.print()
        console.print(_shares(found))
    for reason in found.refused:
        console.print(f"refused  {reason}", markup=False, soft_wrap=True)
    if found.shares and not found.refused:
        console.print("carried  by these hosts, with nothing else on them", markup=False)


def _hosts(hosts: Sequence[CheckedHost]) -> Table:
    carries = ("processors", "memory", "brokers", "messages/s")
    table = Table("host", "address", "runtime", "links", "takes part", "weight", *carries, box=None, pad_edge=False)
    for host in hosts:
        able = host.capacity
        ready = Text("no", style="red") if host.obstacles else Text("yes", style="green")
        numbers = (
            f"{host.weight:g}", f"{able.processors:.2f}", f"{able.memory / 1e9:.1f} GB", f"{able.brokers:,}",
            f"{able.messages:,}",
        )  # fmt: skip
        table.add_row(Text(host.name), host.address, host.runtime, host.links, ready, *numbers)
    return table


def _shares(found: HostsCheck) -> Table:
    table = Table("variant", "host", "brokers", "sites", "processors", "memory", "frames/s", box=None, pad_edge=False)
    able = {host.name: host.capacity for host in found.hosts}
    for load in found.shares:
        of = able[load.host]
        frames = f"{load.frames:,.0f}" if of.frames is None else f"{load.frames:,.0f} of {of.frames:,.0f}"
        table.add_row(
            Text(load.variant), Text(load.host), f"{load.brokers:,}", f"{load.sites:,}",
            f"{load.processors:.2f} of {of.processors:.2f}",
            f"{load.memory / 1e9:.1f} of {of.memory / 1e9:.1f} GB", frames,
        )  # fmt: skip
    return table
