"""Hindrances of connections: what the plan asks for besides, for which clients that run may have none.

A client has no connection while its broker is down or its access link is cut, and needs time to get one afterwards.
Connections that are there are as asked all the same.
"""

from __future__ import annotations

from collections.abc import Iterable

from emulation.verification.asked import BrokerState, DirectionState, Stage, State
from topology.link_properties import LinkDirection
from topology.sites import Site


def hindrance(site: Site, stages: Iterable[Stage], now: int, returns_within: int) -> str:
    """The reason why clients of a site may have no connection to its broker now, in words; empty without any.

    Times are nanoseconds from the start of the join phase; `returns_within` is how many of them the start of a broker
    and the opening of sessions may take together.
    """
    ways = (LinkDirection(site.name, site.broker), LinkDirection(site.broker, site.name))
    for stage in stages:
        if stage.target not in (site.broker, *ways) or stage.begin > now:
            continue
        if (why := _reason(stage.state)) and (stage.end is None or now < stage.end + returns_within):
            return why
    return ""


def _reason(state: State) -> str:
    match state:
        case BrokerState(down=down) if down is not None:
            return "its broker was down"
        case DirectionState(cut=True):
            return "its access link was cut"
    return ""
