"""What the relay did: frames, drops by cause, and how late frames left it."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from emulation.network.links import UserspaceLink
from emulation.network.namespaces import read_send_drops
from emulation.network.relay_messages import LATENESS_UNIT, DirectionCounters
from emulation.network.relay_process import RelayProcess
from topology.model import BrokerId

_SECOND = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectionStatistics:
    """What the relay did with frames of one direction of a link, since the link was made."""

    source: BrokerId
    target: BrokerId
    frames: int
    """Delivered, as are octets."""
    octets: int
    lost: int
    """By the loss asked for."""
    queue_full: int
    """By the queue limit."""
    down: int
    """While the link was cut."""
    undeliverable: int
    """Refused by the receiving interface, or beyond what the relay may hold."""
    damaged: int
    """Delivered so, as asked for."""
    unread: int
    """Dropped by the kernel because the relay did not read them in time: a fault of the emulation."""
    lateness_99: float
    """Seconds by which 99 of 100 frames missed their time at most, in steps of 10 us."""
    lateness_greatest: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RelayStatistics:
    """What the relay did, in all."""

    pid: int
    priority: str
    """What the host let it take, and whether it still has it."""
    frames: int
    unread: int
    lateness_50: float
    """Seconds by which half of all frames missed their time at most."""
    lateness_95: float
    lateness_99: float
    lateness_greatest: float
    directions: tuple[DirectionStatistics, ...]


def lateness_percentile(buckets: Mapping[int, int], share: float) -> float:
    """Seconds that this share of frames was late at most: the upper end of a bucket; 0 of no frames."""
    wanted = share * sum(buckets.values())
    seen = 0
    for bucket in sorted(buckets):
        seen += buckets[bucket]
        if seen >= wanted:
            return (bucket + 1) * LATENESS_UNIT / _SECOND
    return 0.0


def gather_statistics(relay: RelayProcess, links: Iterable[UserspaceLink]) -> RelayStatistics:
    """Ask the relay for its counts on these links, and the kernel for what the relay never saw."""
    drops: dict[int, dict[str, int]] = {}
    buckets: Counter[int] = Counter()
    directions = []
    for link in links:
        counters = link.counters()
        brokers = (link.names.link.a, link.names.link.b)
        for side in (0, 1):
            process = link.processes[side]
            if process not in drops:
                drops[process] = read_send_drops(process)
            unread = drops[process].get(link.names.interfaces[side], 0)
            directions.append(_direction(brokers[side], brokers[1 - side], counters[side], unread))
            buckets.update(counters[side].lateness)
    return RelayStatistics(
        pid=relay.pid,
        priority=_priority(relay),
        frames=sum(direction.frames for direction in directions),
        unread=sum(direction.unread for direction in directions),
        lateness_50=lateness_percentile(buckets, 0.5),
        lateness_95=lateness_percentile(buckets, 0.95),
        lateness_99=lateness_percentile(buckets, 0.99),
        lateness_greatest=max((direction.lateness_greatest for direction in directions), default=0.0),
        directions=tuple(directions),
    )


def _priority(relay: RelayProcess) -> str:
    """A relay that finds no rest gives its precedence up, and then is late as others are."""
    taken = relay.await_ready()
    with contextlib.suppress(ProcessLookupError):
        if taken.startswith("real-time") and os.sched_getscheduler(relay.pid) == os.SCHED_OTHER:
            return f"{taken}, given up as it never rested"
    return taken


def _direction(source: BrokerId, target: BrokerId, counted: DirectionCounters, unread: int) -> DirectionStatistics:
    return DirectionStatistics(
        source=source,
        target=target,
        frames=counted.frames,
        octets=counted.octets,
        lost=counted.lost,
        queue_full=counted.queue_full,
        down=counted.down,
        undeliverable=counted.undeliverable,
        damaged=counted.damaged,
        unread=unread,
        lateness_99=lateness_percentile(counted.lateness, 0.99),
        lateness_greatest=counted.greatest_lateness / _SECOND,
    )
