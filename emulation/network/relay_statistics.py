"""Statistics of the relay: frames, drops by cause, and percentiles of their lateness."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from emulation.network.namespaces import read_send_drops
from emulation.network.relay.handle import RelayProcess
from emulation.network.relay.messages import LATENESS_UNIT, DirectionCounters
from record.time_units import SECOND
from topology.link_properties import BrokerId

if TYPE_CHECKING:
    from emulation.network.links import UserspaceLink


@dataclass(frozen=True, slots=True, kw_only=True)
class RelayStatistics:
    """Statistics of all links together, since they were made."""

    pid: int
    priority: str
    """The scheduling that the host gave the relay, and whether it still has it."""
    frames: int
    """Delivered frames."""
    unread: int
    """Frames that the kernel dropped because the relay did not read them in time: a fault of the emulation."""
    directions: Mapping[tuple[BrokerId, BrokerId], DirectionCounters]
    """The counters of each direction, by sender and receiver."""


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
    unread = 0
    directions: dict[tuple[BrokerId, BrokerId], DirectionCounters] = {}
    for link in links:
        a, b = link.names.link.a, link.names.link.b
        directions[a, b], directions[b, a] = link.counters()
        for process, interface in zip(link.processes, link.names.interfaces, strict=True):
            if process not in drops:
                drops[process] = read_send_drops(process)
            unread += drops[process].get(interface, 0)
    return RelayStatistics(
        pid=relay.pid,
        priority=_priority(relay),
        frames=sum(counters.frames for counters in directions.values()),
        unread=unread,
        directions=directions,
    )


def _priority(relay: RelayProcess) -> str:
    """The relay's scheduling; a relay that never pauses gives its precedence up, and then is as late as other
    processes."""
    taken = relay.await_ready()
    with contextlib.suppress(ProcessLookupError):
        if taken.startswith("real-time") and os.sched_getscheduler(relay.pid) == os.SCHED_OTHER:
            return f"{taken}, given up because it never paused"
    return taken
