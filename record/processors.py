"""`processors.jsonl`: the time for which the processes of a run ran on a processor, and waited for one.

1. Each line is one object: blocks of intervals, and for each variant a last line about the sampling itself.
2. An interval belongs to one node, which is a broker, a driver or the relay. Its times are the sums over the node's
   threads, so that they can be longer than the interval; intervals without any are left out.
3. The kernel counts a wait when it ends. One that is longer than its interval began before it.

Source: schedstat of a thread (kernel documentation, scheduler/sched-stats).
"""

from __future__ import annotations

import msgspec

RELAY = "relay"
"""The node that stands for the relay of the userspace link driver."""
INTERVAL = 5
"""Number of integers that describe an interval."""


class ProcessorBlock(msgspec.Struct, frozen=True, tag="intervals"):
    """Some intervals of one variant."""

    variant: str
    start: int
    """Nanoseconds of the run's clock, from which the times of the intervals count."""
    nodes: list[str]
    intervals: list[int]
    """Five numbers for each: the node by its place in `nodes`, and microseconds: begin, end, waiting, running."""


class ProcessorSampling(msgspec.Struct, frozen=True, tag="sampling", kw_only=True):
    """The sampling of a variant's processes."""

    variant: str
    seconds: float
    looks: int
    used: float
    """Seconds of processor time that the sampler used while it looked."""
    processes: int
    """Processes that were ever looked at."""
    unread: int
    """Threads that could not be looked at, because too many files were open."""


ProcessorLine = ProcessorBlock | ProcessorSampling
