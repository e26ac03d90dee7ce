"""The time that a client's operation takes to settle, and a message to cross the overlay.

1. An operation *spreads* over the longest of the fastest paths between two brokers. On a link that drops frames it
   waits for TCP to send them again, as often as a thousandth of them needs. Further retransmissions, trees that are
   longer than the fastest path, and queues are covered by a factor of `DETOURS`.
2. Each broker on the way serves it: modelled work, and the modelled time of sending, with `BACKLOG` messages before it.
   Of these, a link carries no more than its window (`brokers.limits.window`) in each round trip.
3. A protocol may hold it back at brokers on its way, for the intervals that it declares (the manifest's
   `settles_within`).
4. Of operations that are made together, each waits for the others: `WORK_SECONDS`, and modelled work with a factor of
   `VARIATION`.
5. Of clients on sites, it crosses the slowest access link to a broker and the slowest one to a site besides.
6. `ALLOWANCE_SECONDS` are added for the work of brokers and host, where nothing but time shows that it has settled.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from msgspec import UNSET

from analysis.judging.histories.turns import sendings_ahead
from record.manifest import VariantRecord
from record.service_time import SendingOrder
from record.time_units import SECOND
from topology.link_properties import Link, LinkProperties
from topology.model import MeshLinks, Overlay
from topology.paths import path_delays
from topology.sites import Site

ALLOWANCE_SECONDS = 2.0
"""The time that an operation may take to reach every broker, or a publication to be matched, beyond the time of links,
modelled work and declared intervals."""
DETOURS = 4
"""Ratio of the longest way that an operation may take to the longest of the fastest paths."""
BACKLOG = 8
"""Messages that a modelled server may have to serve before an operation, as a mean over the brokers on its way."""
WORK_SECONDS = 0.001
"""The most that a broker may need for each message that waits, beyond modelled work: ten times what it does need."""
VARIATION = 4
"""Ratio of the longest mean of modelled times, over the messages of a queue, to the mean that was asked for."""
_RARELY = 0.001
"""Share of the frames of a link that may be dropped more often than is allowed for."""
_TIMEOUT_SECONDS = 0.2
"""The least time for which TCP waits for an acknowledgement, besides a round trip, before it sends a frame again."""
_MOST_DROPPED = 8
"""Times in a row that a frame is dropped at most."""
_SPREAD_OF_JITTER = 3.0
"""Standard deviations by which jitter may prolong the delay of every link on a way."""

CALM_SECONDS = 0.5
"""The time that takes the place of the allowance for the handling of a message by brokers that nothing disturbs."""

ALLOWANCE = int(ALLOWANCE_SECONDS * SECOND)
CALM = int(CALM_SECONDS * SECOND)
WORK = int(WORK_SECONDS * SECOND)


@dataclass(frozen=True, slots=True)
class Settling:
    """The times in which operations and messages cross one variant's overlay, in nanoseconds."""

    spread: int = 0
    """The time that links, modelled work and declared intervals take, with the margins of the rules above."""
    declared: int = 0
    """The part of it for which operations, but no publications, may wait at brokers."""
    pace: int = 0
    """The time that each of many operations keeps the next one waiting at a broker."""

    @property
    def within(self) -> int:
        """The longest time that an operation takes to reach every broker, or a publication to be matched."""
        return self.spread + ALLOWANCE

    @property
    def calm(self) -> int:
        """The part of the allowance that no message needs where no fault was and brokers have no modelled work, in
        whose queues it might wait."""
        return ALLOWANCE - CALM if self.pace <= WORK else 0

    @property
    def crossing(self) -> int:
        """The longest time between the last record of a publication that nothing holds up and its arrival."""
        return self.within - self.declared

    def of_many(self, operations: int) -> int:
        """The longest time in which this many operations reach every broker that are made together."""
        return self.within + operations * self.pace


def settling_of(variant: VariantRecord, overlay: Overlay, sites: Sequence[Site] = ()) -> Settling:
    """The settling of operations in one variant, whose overlay has all links that it ever has."""
    declared = 0.0 if variant.settles_within is UNSET else variant.settles_within
    service, windows = _service(variant), _windows(variant)
    path = _longest_path(overlay, variant) + _longest_access(sites)
    sending = _longest_sending(overlay, variant.sending_order)
    waiting = windows * _longest_round_trip(overlay) / BACKLOG if windows else 0.0
    return Settling(
        spread=round((DETOURS * path + declared) * SECOND),
        declared=round(declared * SECOND),
        pace=round((WORK_SECONDS + VARIATION * (service + sending) + waiting) * SECOND),
    )


def _service(variant: VariantRecord) -> float:
    return 0.0 if variant.service_time is UNSET else variant.service_time


def _windows(variant: VariantRecord) -> int:
    """The number of windows that the messages fill which wait before an operation; 0 for a usual window."""
    return 0 if variant.window is UNSET else BACKLOG // variant.window


def _longest_path(overlay: Overlay, variant: VariantRecord) -> float:
    """Seconds of the longest of the fastest paths between two brokers, with the work of brokers and links on it."""
    names, service, windows = [broker.id for broker in overlay.brokers], _service(variant), _windows(variant)
    sending = variant.sending_order
    if len(names) < 2:
        return service * BACKLOG
    if isinstance(overlay.links, MeshLinks):
        longest = float(overlay.links.delays().max()) * (1 + _SPREAD_OF_JITTER)
        return longest * (1 + 2 * windows) + service * BACKLOG
    number = {name: place for place, name in enumerate(names)}
    edges = []
    for link in overlay.links:
        for source, target in link.directions:
            asked = link.properties_from(source)
            work = BACKLOG * (service + sendings_ahead(sending, overlay, source) * asked.send_time.mean)
            held = windows * _round_trip(link) if windows else 0.0
            again = _sent_again(asked, link.properties_from(target))
            edges.append((number[source], number[target], _crossing(asked) + again + work + held))
    delays = path_delays(len(names), edges, range(len(names)))
    return float(delays[np.isfinite(delays)].max())


def _crossing(asked: LinkProperties) -> float:
    """Seconds over one direction of a link that drops nothing."""
    return asked.delay + _SPREAD_OF_JITTER * asked.jitter


def _round_trip(link: Link) -> float:
    return sum(_crossing(link.properties_from(end)) for end in (link.a, link.b))


def _longest_round_trip(overlay: Overlay) -> float:
    if isinstance(overlay.links, MeshLinks):
        return 2 * float(overlay.links.delays().max()) * (1 + _SPREAD_OF_JITTER)
    return max(map(_round_trip, overlay.links), default=0.0)


def _longest_access(sites: Sequence[Site]) -> float:
    """Seconds over the slowest access link to a broker, and over the slowest one to a site."""
    directions = [[(site.up, site.down) for site in sites], [(site.down, site.up) for site in sites]]
    return sum(
        max((_crossing(one) + _sent_again(one, other) for one, other in ways), default=0.0) for ways in directions
    )


def _sent_again(asked: LinkProperties, way_back: LinkProperties) -> float:
    """Seconds for which a frame waits that a link drops time after time. TCP waits twice as long after each time."""
    if not 0.0 < asked.loss < 1.0:
        return 0.0
    times = min(math.ceil(math.log(_RARELY) / math.log(asked.loss)), _MOST_DROPPED)
    return (asked.delay + way_back.delay + _TIMEOUT_SECONDS) * ((1 << times) - 1)


def _longest_sending(overlay: Overlay, sending: SendingOrder) -> float:
    """Mean seconds of the longest modelled sending of a message; of a mesh, those of its first link."""
    links = overlay.links[:1] if isinstance(overlay.links, MeshLinks) else overlay.links
    return max(
        (
            sendings_ahead(sending, overlay, source) * link.properties_from(source).send_time.mean
            for link in links
            for source in (link.a, link.b)
        ),
        default=0.0,
    )
