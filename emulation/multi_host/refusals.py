"""Variants that several hosts cannot share, which are refused before anything of them starts."""

from __future__ import annotations

from collections.abc import Mapping

from emulation.multi_host.placement import Placement, place_sites
from emulation.planning.plan import VariantPlan
from record.errors import HostError
from scenario.faults import CountReached, FaultSchedule
from scenario.faults.conditions import Moving
from topology.link_properties import LinkDirection
from topology.sites import ClientHost

_TOGETHER = "place both brokers on one host (`brokerlab_brokers` in the inventory), or leave --hosts out"


def require_shareable(variant: VariantPlan, placement: Placement) -> None:
    """Raises `HostError`, naming the field, for a variant that hosts cannot share with this placement."""
    schedule = variant.schedule()
    require_times_only(schedule)
    require_still(variant)
    require_no_programs(variant)
    require_known_whereabouts(schedule, placement, place_sites(variant.sites, placement))


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


def require_known_whereabouts(schedule: FaultSchedule, brokers: Mapping[str, str], sites: Mapping[str, str]) -> None:
    """Raises `HostError` for faults of sites that concern two hosts, of which only one knows where the sites are.

    These are moves of clients to a site on another host, whose drivers do not have them, and faults of what a broker
    sends to a site of another host. `brokers` and `sites` are the hosts of these.
    """
    for entry, condition in schedule.conditions:
        match condition, condition.target:
            case Moving(to=goal), ClientHost(name, site) if goal in sites and sites[goal] != sites[site]:
                raise HostError(
                    f"{entry.name}: {name} is on {sites[site]}, and site {goal} on {sites[goal]}: clients go to sites "
                    f"on their own host; {_TOGETHER}"
                )
            case _, LinkDirection(source, target) if target in sites and brokers[source] != sites[target]:
                raise HostError(
                    f"{entry.name}: {target} is of {sites[target]}, and {source} on {brokers[source]}: its access link "
                    f"from there has no faults; {_TOGETHER}"
                )
