"""Comparison of what was asked of a broker or a direction with what was seen; empty texts for agreement.

False alarms: the number of lost packets and the spread of delays are compared at `CONFIDENCE`, so that one look in
100,000 at what is as asked finds it wrong, and a look that does is repeated.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping

from emulation.network.probing import tolerance
from emulation.verification.asked import BrokerState, ClientsState, DirectionState
from emulation.verification.expected_moves import Whereabouts
from emulation.verification.seen import BrokerSeen, DirectionSeen, SiteSeen
from record.wording import count_of
from topology.link_properties import BrokerId
from topology.sites import ClientHost

CONFIDENCE = 0.99999
RATE_SHARE = 0.1
"""A rate may be greater than asked by this share, because a short train is measured."""
QUOTA_SHARE = 0.02
_FEWEST_FOR_SPREAD = 7


def site_differs(asked: ClientsState, host: ClientHost, seen: SiteSeen) -> str:
    """The difference between the site of a host and what is asked of its clients, in words.

    Connections do not tell by themselves which client has which: no more may be open than other clients can have, and
    no fewer than the host's own.
    """
    if asked.away is not None:
        too_many = seen.connections > max(0, seen.clients - len(asked.clients))  # some may have moved away
        return f"{seen.connections} connections are open" if too_many else ""
    if seen.connections >= len(host.clients):
        return ""
    return f"{seen.connections} connections are open, its clients have {len(host.clients)}"


def whereabouts_differ(asked: Whereabouts, seen: Mapping[str, Mapping[BrokerId, int]]) -> str:
    """The difference between the places where clients are to be and the connections of sites to brokers, in words."""
    found, left = asked.found, asked.left
    if left is not None and (there := seen[left.site].get(left.broker, 0)) > left.connections:
        return f"{there} connections of {left.site} to {left.broker} are open instead of {left.connections}"
    if found is not None and (there := seen[found.site].get(found.broker, 0)) < found.connections:
        return f"{there} connections of {found.site} to {found.broker} are open instead of {found.connections}"
    return ""


def broker_differs(asked: BrokerState, seen: BrokerSeen, own_cores: float | None) -> str:
    """The difference between a broker and the state that is asked of it, in words.

    `own_cores` is the quota that it was started with.
    """
    if asked.down is not None:
        return "" if not seen.processes else f"it runs on, {_incarnation(seen)}"
    if seen.processes != 1:
        return "no process of it exists" if not seen.processes else f"{seen.processes} processes of it exist"
    if asked.paused:
        return "it goes on working" if seen.works else ""
    if not seen.works:
        return "it does nothing"
    if seen.incarnation != asked.incarnation:
        return f"{_incarnation(seen)} instead of {asked.incarnation}"
    return _quota_differs(own_cores if asked.cores is None else asked.cores, seen.cores)


def direction_differs(asked: DirectionState, seen: DirectionSeen) -> str:
    """The difference between a direction and the state that is asked of it, in words."""
    if asked.lost >= 1:
        return f"{seen.arrived} of {count_of(seen.sent, 'probe')} crossed it" if seen.arrived else ""
    if not seen.arrived:
        return f"none of {count_of(seen.sent, 'probe')} crossed it"
    found = (_loss_differs(asked.lost, seen), _delay_differs(asked, seen), _rate_differs(asked, seen))
    return ", ".join(filter(None, found))


def _incarnation(seen: BrokerSeen) -> str:
    return "without an answer" if seen.incarnation is None else f"as incarnation {seen.incarnation}"


def _quota_differs(asked: float | None, seen: float | None) -> str:
    if asked is None or seen is None:
        return "" if asked == seen else f"its quota is {_cores(seen)} instead of {_cores(asked)}"
    return "" if abs(asked - seen) <= QUOTA_SHARE * asked else f"its quota is {seen:g} CPU instead of {asked:g}"


def _cores(cores: float | None) -> str:
    return "none" if cores is None else f"{cores:g} CPU"


def _loss_differs(lost: float, seen: DirectionSeen) -> str:
    low, high = tolerance.loss_interval(seen.sent, lost, CONFIDENCE)
    if seen.shared:
        high += 1  # a queue that the run's own frames have filled may drop one
    found = seen.sent - seen.arrived
    if low <= found <= high:
        return ""
    return f"{found} of {seen.sent} probes were lost instead of {low} to {high}"


def _delay_differs(asked: DirectionState, seen: DirectionSeen) -> str:
    """Packets that wait behind other frames are late, so of a direction that is in use the quickest one counts."""
    if not seen.delays:
        return ""
    properties = asked.properties
    allowed = tolerance.delay_tolerance(properties.delay, properties.jitter, len(seen.delays), seen.error)
    middle = statistics.median(seen.delays)
    latest = min(seen.delays) if seen.shared and properties.rate is not None else middle
    if middle < seen.expected_delay - allowed or latest > seen.expected_delay + allowed:
        return f"a delay of {middle * 1e3:.2f} ms instead of {seen.expected_delay * 1e3:.2f} (+-{allowed * 1e3:.2f})"
    return _jitter_differs(asked, seen)


def _jitter_differs(asked: DirectionState, seen: DirectionSeen) -> str:
    """Waiting behind other frames spreads delays, so those of a direction in use can only be too close together."""
    properties, alarm = asked.properties, 1 - CONFIDENCE
    if len(seen.delays) < _FEWEST_FOR_SPREAD:
        return ""
    first, _, third = statistics.quantiles(seen.delays, n=4)
    spread = f"half of the delays within {(third - first) * 1e3:.2f} ms"
    offset = seen.expected_delay - tolerance.median_delay(properties)
    if not seen.shared and tolerance.too_wide(properties, seen.delays, offset, alarm, seen.error):
        return f"{spread}, which is too much for a jitter of {properties.jitter * 1e3:.2f} ms"
    if tolerance.too_narrow(properties, seen.delays, alarm, seen.error):
        return f"{spread}, which is too little for a jitter of {properties.jitter * 1e3:.2f} ms"
    return ""


def _rate_differs(asked: DirectionState, seen: DirectionSeen) -> str:
    rate = asked.properties.rate
    if rate is None or seen.rate is None:
        return ""
    slowest = 0.0 if seen.shared else rate * (1 - RATE_SHARE)
    if slowest <= seen.rate <= rate * (1 + RATE_SHARE):
        return ""
    return f"{seen.rate / 1e6:.3f} Mbit/s instead of {rate / 1e6:.3f}"
