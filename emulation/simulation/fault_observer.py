"""Looks at simulated brokers and links from outside: at the processes themselves, and at packets sent through twins of
the links' directions.

A twin is in the state of its direction and draws from a stream of its own, so that a run writes the same logs whether
or not it is looked at.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from functools import partial

from emulation.network.probing import tolerance
from emulation.network.probing.prober import rate_of
from emulation.simulation.event_queue import EventQueue
from emulation.simulation.links import PACKET_OVERHEAD, SEGMENT_BYTES, Direction
from emulation.simulation.overlay import SimulatedOverlay
from emulation.verification.seen import BrokerSeen, DirectionSeen, SiteSeen
from emulation.verification.verifier import FaultVerifier
from record.time_units import SECOND
from topology.link_properties import BrokerId, LinkDirection, LinkProperties
from topology.sites import ClientHost

_PROBE_BYTES = 24
_FEW, _MANY, _MOST = 10, 200, 3_000
"""Probes of a direction without jitter and loss, of one with either, and of one that rarely loses packets."""
_EXPECTED_LOSSES = 20
_INTERVAL_JITTERS, _LEAST_INTERVAL = 10, 0.02
_TRAIN, _TRAIN_JITTERS = 40, 40
_LONGEST_TRAIN = 2_000
ERROR = 1e-6
"""Seconds by which a delay of the model may differ from the one asked."""


class SimulatedObserver:
    """A `FaultObserver` of simulated brokers and links."""

    patience = 0.0
    start_takes = 0.0
    stop_takes = 0.0  # while a broker ends in order, that can be seen
    look_takes = 0.0
    looks_again = 0.1

    def __init__(self, overlay: SimulatedOverlay, seed: int, return_takes: float = 0.0) -> None:
        self._overlay = overlay
        self._seed = seed
        self._looks = 0
        self.return_takes = return_takes
        """Seconds that clients may take to open their sessions."""

    def brokers(self, brokers: Sequence[BrokerId]) -> Mapping[BrokerId, BrokerSeen]:
        return {broker: self._broker(broker) for broker in brokers}

    def sites(self, hosts: Sequence[ClientHost]) -> Mapping[ClientHost, SiteSeen]:
        found = {}
        for host in hosts:
            access = self._overlay.sessions.access_links.latest_of(host.site)
            if access is not None:
                sessions = self._overlay.sessions.over(access)
                found[host] = SiteSeen(
                    connections=sum(session.up for session in sessions),
                    clients=len(sessions),
                    reachable=access.whole,
                )
        return found

    def connections(self, sites: Collection[str]) -> Mapping[str, Mapping[BrokerId, int]]:
        return {site: self._overlay.sessions.open_at(site) for site in sites}

    def directions(
        self, asked: Mapping[LinkDirection, LinkProperties], lost: Mapping[LinkDirection, float]
    ) -> Mapping[LinkDirection, DirectionSeen]:
        self._looks += 1
        found = {}
        for direction, properties in asked.items():
            twin = self._overlay.links.twin(direction, f"{self._seed}:look {self._looks}:{direction}")
            if twin is None and lost[direction] >= 1:  # an access link that has left its broker
                found[direction] = DirectionSeen(sent=_FEW, arrived=0)
            elif twin is not None:
                found[direction] = _probe(twin, self._overlay.events.now, properties, lost[direction])
        return found

    def _broker(self, broker: BrokerId) -> BrokerSeen:
        processes = self._overlay.brokers.processes(broker)
        return BrokerSeen(
            processes=len(processes),
            works=any(process.held is None for process in processes),
            incarnation=processes[-1].core.incarnation if processes else None,
            stopping=any(process.stopping for process in processes),
        )


def _probe(twin: Direction, now: int, asked: LinkProperties, lost: float) -> DirectionSeen:
    """Sends packets at such times that none waits behind another, and a train where a rate is asked."""
    interval = round(max(_LEAST_INTERVAL, _INTERVAL_JITTERS * asked.jitter) * SECOND)
    slowed = 0.0 if asked.rate is None else (_PROBE_BYTES + PACKET_OVERHEAD) * 8 / asked.rate
    start = max(now, twin.last_arrival)
    packets = _packets(asked, lost)
    delays: list[float] = []
    for number in range(packets):
        sent = start + number * max(interval, round(2 * slowed * SECOND))
        arrived = twin.datagram(sent, _PROBE_BYTES)
        if arrived >= 0:
            delays.append((arrived - sent) / SECOND)
    end = start + packets * interval + round((asked.delay + _TRAIN_JITTERS * asked.jitter) * SECOND)
    return DirectionSeen(
        sent=packets,
        arrived=len(delays),
        delays=tuple(delays),
        expected_delay=tolerance.median_delay(asked) + slowed,
        rate=None if asked.rate is None or lost >= 1 else _rate(twin, end, asked),
        error=ERROR,
    )


def _packets(asked: LinkProperties, lost: float) -> int:
    if 0 < lost < 1:
        return min(_MOST, max(_MANY, math.ceil(_EXPECTED_LOSSES / lost)))
    return _MANY if asked.jitter else _FEW


def _rate(twin: Direction, start: int, asked: LinkProperties) -> float | None:
    """Bits per second at which a train of large packets arrives."""
    assert asked.rate is not None
    bits = (SEGMENT_BYTES + PACKET_OVERHEAD) * 8
    packets = max(_TRAIN, math.ceil(_TRAIN_JITTERS * asked.jitter * asked.rate / bits))
    packets = min(packets, _LONGEST_TRAIN, asked.queue_limit)
    arrivals = (twin.datagram(start, SEGMENT_BYTES) for _ in range(packets))
    return rate_of([arrival for arrival in arrivals if arrival >= 0], bits)


class BackgroundLooks:
    """Has a verifier look whenever it wants to, until `end`.

    Looks are background calls, which neither keep an overlay from being settled nor change the order of others.
    """

    def __init__(self, verifier: FaultVerifier, events: EventQueue) -> None:
        self._verifier = verifier
        self._events = events
        self._turn = 0
        """Number of the call that is due; former ones do nothing."""
        self.renew()

    def renew(self) -> None:
        """Has the verifier look at the time that it wants now."""
        self._turn += 1
        if (due := self._verifier.next_look) is not None:
            self._events.background(max(due, self._events.now + 1), partial(self._look, self._turn))

    def end(self) -> None:
        self._turn += 1

    def _look(self, turn: int) -> None:
        if turn == self._turn:
            self._verifier.look()
            self.renew()
