"""Hindrances of connections: what the plan asks for besides, for which clients that run may have none.

A client has no connection while its broker is down or its access link is cut, and needs time to get one afterwards.
Connections that are there are as asked all the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from emulation.verification.asked import BrokerState, DirectionState, Stage, State
from emulation.verification.seen import FaultObserver
from record.time_units import SECOND
from scenario.faults.conditions import Target
from topology.link_properties import LinkDirection
from topology.sites import ClientHost, Site


@dataclass(frozen=True, slots=True)
class Hindrances:
    """The hindrances of the clients of one variant."""

    sites: Sequence[Site]
    stages: Sequence[Stage]
    observer: FaultObserver
    start: int
    """The time from which stages count, in nanoseconds of the run's clock."""

    def of(self, host: ClientHost, now: int) -> str:
        """The reason why clients of a host may have no connection at this time of the run's clock, in words; empty
        without any. The start of a broker and the opening of sessions take their time."""
        observer, elapsed = self.observer, now - self.start
        within = round((observer.patience + observer.start_takes + observer.return_takes) * SECOND)
        targets = {target for site in self.sites if site.name == host.site for target in _needed(site)}
        for stage in self.stages:
            lasts = stage.begin <= elapsed and (stage.end is None or elapsed < stage.end + within)
            if stage.target in targets and lasts and (why := _reason(stage.state)):
                return why
        return ""


def _needed(site: Site) -> tuple[Target, ...]:
    """The broker of a site and the directions of its access link."""
    return site.broker, LinkDirection(site.name, site.broker), LinkDirection(site.broker, site.name)


def _reason(state: State) -> str:
    match state:
        case BrokerState(down=down) if down is not None:
            return "its broker was down"
        case DirectionState(cut=True):
            return "its access link was cut"
    return ""
