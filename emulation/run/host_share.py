"""A host's share of a variant: all of it, or the brokers placed on this host where several hosts share a variant."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Protocol

from emulation.network.host_tunnels import HostTunnels
from emulation.planning.plan import VariantPlan
from scenario.faults import FaultSchedule
from scenario.faults.conditions import Target
from scenario.faults.programs import Hold, Lift, Program, Repeat, Sequence, Wait
from topology.link_properties import BrokerId, Link, LinkDirection
from topology.model import Overlay
from topology.sites import ClientHost, Site

LEAD = 0.3
"""Seconds between giving the drivers the start of the workload and that moment, on a host that runs it alone."""


LEFT, SETTLED, READ = "left", "settled", "read"
"""Steps after which hosts wait for each other where clients leave: they have left; no message moves any more, on which
hosts vote; the routing tables have been read. The last two exist only where tables are compared."""


def leaving_stage(nodes: Iterable[str], step: str) -> str:
    """Name of the stage at which every host has done a step of the leaving of these nodes' clients."""
    return f"{'-'.join(nodes)}-{step}"


def leaving_stages(plan: VariantPlan) -> list[str]:
    """All stages of the leaving of a variant's clients, in order."""
    steps = (LEFT,) if plan.scenario.timeline.withdraw is None else (LEFT, SETTLED, READ)
    return [leaving_stage(nodes, step) for nodes in plan.leaving for step in steps]


Sleep = Callable[[float], None]
"""Returns after that many seconds; raises to end whatever waits."""


class Rendezvous(Protocol):
    """Barrier of the hosts that share a variant. Raises `HostError` when one does not come, and what `sleep` raises."""

    def wait_for_all(self, stage: str, sleep: Sleep) -> None:
        """Returns when every host has reached this stage."""

    def votes(self, stage: str, vote: int, sleep: Sleep) -> list[int]:
        """The votes of all hosts at this stage, this host's own among them, once every host has cast one."""

    def begin(self, sleep: Sleep) -> float:
        """The start of the workload on all hosts, in seconds of this host's monotonic clock, a little ahead.

        Returns when every host is ready for it.
        """

    @property
    def clock_offset(self) -> int:
        """Nanoseconds to add to this host's clock to get the run's, as last estimated."""


class SingleHost:
    """The barrier of a host that shares its variant with no other."""

    def wait_for_all(self, stage: str, sleep: Sleep) -> None:
        """Returns at once."""

    def votes(self, stage: str, vote: int, sleep: Sleep) -> list[int]:
        return [vote]

    def begin(self, sleep: Sleep) -> float:
        return time.monotonic() + LEAD

    @property
    def clock_offset(self) -> int:
        return 0


@dataclass(frozen=True, kw_only=True)
class HostShare:
    """The part of a variant that one host runs."""

    brokers: frozenset[BrokerId]
    """Brokers that run on this host."""
    host: str = ""
    """Name of this host among those that share the variant; empty where it has all of it."""
    tunnels: HostTunnels | None = None
    """Tunnels to the other hosts' brokers; None without other hosts."""
    rendezvous: Rendezvous = field(default_factory=SingleHost)

    @classmethod
    def whole(cls, overlay: Overlay) -> HostShare:
        """The share of a host that runs the whole variant."""
        return cls(brokers=frozenset(broker.id for broker in overlay.brokers))

    def hosted(self, overlay: Overlay) -> list[BrokerId]:
        """The brokers of an overlay that run on this host, in the overlay's order."""
        return [broker.id for broker in overlay.brokers if broker.id in self.brokers]

    @property
    def suffix(self) -> str:
        """Ending of the names of this host's drivers and of its log of faults, which makes them unique in the run."""
        return f"@{self.host}" if self.host else ""

    def sites(self, everywhere: Iterable[Site]) -> list[Site]:
        """The sites on this host, which are those of its brokers at the start of the run."""
        return [site for site in everywhere if site.broker in self.brokers]

    def links(self, plan: VariantPlan) -> list[Link]:
        """The links with an end on this host, those that appear later and the access links of its sites among them."""
        between = [link for link in plan.wired.links if self.brokers & {link.a, link.b}]
        return [*between, *(site.link for site in self.sites(plan.sites)), *self.later_access(plan)]

    def later_access(self, plan: VariantPlan) -> list[Link]:
        """The access links that planned moves give to sites of this host, besides those that they have at the begin."""
        names = {site.name for site in self.sites(plan.sites)}
        return [link for link in plan.later_access if link.a in names]

    def own(self, schedule: FaultSchedule, sites: Iterable[Site] = ()) -> FaultSchedule:
        """The faults that are this host's to inject: on its brokers and sites, and on what they send.

        `sites` are those of the whole variant.
        """
        if not self.host:
            return schedule
        nodes = self._nodes(sites)
        entries = [replace(entry, program=_of_nodes(entry.program, nodes)) for entry in schedule.entries]
        return FaultSchedule(tuple(entries))

    def _nodes(self, sites: Iterable[Site]) -> frozenset[str]:
        return self.brokers.union(site.name for site in self.sites(sites))


def _of_nodes(program: Program, nodes: frozenset[str]) -> Program:
    """The part of a program that concerns these brokers and sites."""
    match program:
        case Hold(conditions, seconds):
            return Hold(tuple(condition for condition in conditions if _node_of(condition.target) in nodes), seconds)
        case Sequence(parts):
            return Sequence(tuple(_of_nodes(part, nodes) for part in parts))
        case Repeat(part, times):
            return Repeat(_of_nodes(part, nodes), times)
        case Lift() | Wait():
            return program


def _node_of(target: Target) -> str:
    """The broker or site whose host brings about what happens to a target."""
    match target:
        case LinkDirection():
            return target.source
        case ClientHost():
            return target.site
        case _:
            return target
