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
from topology.link_properties import BrokerId, LinkDirection
from topology.model import Overlay

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

    def own(self, schedule: FaultSchedule) -> FaultSchedule:
        """The faults that are this host's to inject: on its brokers, and on what they send."""
        if not self.host:
            return schedule
        entries = [replace(entry, program=self._own(entry.program)) for entry in schedule.entries]
        return FaultSchedule(tuple(entries))

    def _own(self, program: Program) -> Program:
        match program:
            case Hold(conditions, seconds):
                return Hold(tuple(condition for condition in conditions if self._has(condition.target)), seconds)
            case Sequence(parts):
                return Sequence(tuple(map(self._own, parts)))
            case Repeat(part, times):
                return Repeat(self._own(part), times)
            case Lift() | Wait():
                return program

    def _has(self, target: Target) -> bool:
        return (target.source if isinstance(target, LinkDirection) else target) in self.brokers  # and never a site
