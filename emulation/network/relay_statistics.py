"""Statistics of the relay: frames, drops by cause, and lateness of frames."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from emulation.network.links import UserspaceLink
from emulation.network.namespaces import read_send_drops
from emulation.network.relay.handle import RelayProcess
from emulation.network.relay.messages import LATENESS_UNIT, DirectionCounters
from record.time_units import SECOND
from topology.link_properties import BrokerId


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectionStatistics:
    """Counters of the frames of one direction of a link since the link was made."""

    source: BrokerId
    target: BrokerId
    frames: int
    """Delivered frames; `octets` are their bytes."""
    octets: int
    lost: int
    """Frames dropped by the link's loss."""
    queue_full: int
    """Frames dropped by the queue limit."""
    down: int
    """Frames dropped while the link was cut."""
    undeliverable: int
    """Frames that the receiving interface refused, or above the relay's limit in flight."""
    damaged: int
    """Delivered frames that a fault has damaged."""
    unread: int
    """Frames that the kernel dropped because the relay did not read them in time: a fault of the emulation."""
    lateness_99: float
    """Greatest lateness in seconds of the most punctual 99% of frames, in steps of 10 us."""
    lateness_greatest: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RelayStatistics:
    """Statistics of all links together."""

    pid: int
    priority: str
    """The scheduling that the host gave the relay, and whether it still has it."""
    frames: int
    unread: int
    lateness_50: float
    """Greatest lateness in seconds of the most punctual half of all frames."""
    lateness_95: float
    lateness_99: float
    lateness_greatest: float
    directions: tuple[DirectionStatistics, ...]


def lateness_percentile(buckets: Mapping[int, int], share: float) -> float:
    """Greatest lateness in seconds of the most punctual share of frames: the upper end of a bucket; 0 without
    frames."""
    wanted = share * sum(buckets.values())
    seen = 0
    for bucket in sorted(buckets):
        seen += buckets[bucket]
        if seen >= wanted:
            return (bucket + 1) * LATENESS_UNIT / SECOND
    return 0.0


def gather_statistics(relay: RelayProcess, links: Iterable[UserspaceLink]) -> RelayStatistics:
    """Statistics of these links from the relay's counters, and from the kernel's for frames that the relay never
    read."""
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
    """The relay's scheduling; a relay that never pauses gives its precedence up, and then is as late as other
    processes."""
    taken = relay.await_ready()
    with contextlib.suppress(ProcessLookupError):
        if taken.startswith("real-time") and os.sched_getscheduler(relay.pid) == os.SCHED_OTHER:
            return f"{taken}, given up because it never paused"
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
        lateness_greatest=counted.greatest_lateness / SECOND,
    )
