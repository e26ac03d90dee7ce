"""Variants that several hosts cannot share, which are refused before anything of them starts."""

from __future__ import annotations

from emulation.multi_host.placement import Placement, place_sites
from emulation.planning.plan import VariantPlan
from record.errors import HostError
from scenario.faults import CountReached, FaultSchedule
from scenario.faults.conditions import Moving
from topology.sites import Move


def require_shareable(variant: VariantPlan, placement: Placement) -> None:
    """Raises `HostError`, naming the field, for a variant that hosts cannot share with this placement."""
    schedule = variant.schedule()
    require_times_only(schedule)
    require_still(variant)
    require_no_programs(variant)
    require_moves_within_hosts(schedule, {**placement, **place_sites(variant.sites, placement)})


def require_times_only(schedule: FaultSchedule) -> None:
    """Raises `HostError` for faults that depend on a count of messages, because no host sees all messages."""
    for entry in schedule.entries:
        if isinstance(entry.start, CountReached):
            raise HostError(
                f"{entry.name}: a fault that waits for a count of messages cannot be on several hosts, as none of them "
                "sees all messages: give it a time (`at`)"
            )


def require_still(variant: VariantPlan) -> None:
    """Raises `HostError` for an overlay that changes, because no host opens and closes paths of another."""
    if variant.evolution is not None:
        raise HostError("motion: an overlay that changes runs on one host or in the simulator; leave --hosts out")


def require_no_programs(variant: VariantPlan) -> None:
    """Raises `HostError` for client programs, which need not be there on other hosts."""
    if variant.programs:
        raise HostError("clients.programs: client programs run on one host only; leave --hosts out, or the programs")


def require_moves_within_hosts(schedule: FaultSchedule, hosts: dict[str, str]) -> None:
    """Raises `HostError` for a move from one host to another, whose clients the drivers of neither could keep.

    `hosts` are those of brokers and sites.
    """
    for entry, condition in schedule.conditions:
        if isinstance(condition, Moving) and (sentence := _between_hosts(condition.move, hosts)):
            raise HostError(f"{entry.name}: {sentence}")


def _between_hosts(move: Move, hosts: dict[str, str]) -> str:
    """The reason why a move leads to another host, and the remedy; empty where it does not."""
    here, there = hosts[move.host.site], hosts[move.to]
    if here == there:
        return ""
    return (
        f"{move.host} is on {here}, and {move.to} on {there}: moves stay on one host; place both brokers on one "
        "(`brokerlab_brokers` in the inventory), or leave --hosts out"
    )
