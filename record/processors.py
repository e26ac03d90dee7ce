"""`processors.jsonl`: the time for which the processes of a run ran on a processor, and waited for one.

1. Each line is one object: blocks of intervals, and for each variant a last line about the sampling itself.
   Quotas and what the host took have blocks of their own, which are there only where there is something to tell.
2. An interval belongs to one node, which is a broker, a driver or the relay. Its times are the sums over the node's
   threads, so that they can be longer than the interval; intervals without any are left out.
3. On several hosts, each has a file of its own, with times of its own clock and one relay.
4. The kernel counts a wait when it ends. One that is longer than its interval began before it. A thread that its quota
   holds back could run, so that the kernel counts it as waiting as well.

Source: schedstat of a thread (kernel documentation, scheduler/sched-stats).
"""

from __future__ import annotations

import msgspec

RELAY = "relay"
"""The node that stands for the relay of the userspace link driver."""
NOT_SAMPLED = "waits for a processor"
"""The check of `fidelity.json` that states why a host did not sample its processors; none where it did."""
INTERVAL = 5
"""Number of integers that describe an interval."""
HELD_BACK = HOST_INTERVAL = 4
"""Number of integers that describe an interval of a quota, and of the host."""


class ProcessorBlock(msgspec.Struct, frozen=True, tag="intervals"):
    """Some intervals of one variant."""

    variant: str
    start: int
    """Nanoseconds of the run's clock, from which the times of the intervals count."""
    nodes: list[str]
    intervals: list[int]
    """Five numbers for each: the node by its place in `nodes`, and microseconds: begin, end, waiting, running."""


class QuotaBlock(msgspec.Struct, frozen=True, tag="quotas"):
    """Some intervals in which quotas of brokers' own control groups held them back."""

    variant: str
    start: int
    nodes: list[str]
    intervals: list[int]
    """Four numbers for each: the node by its place in `nodes`, and microseconds: begin, end, and held back, which is a
    sum over processors."""


class HostBlock(msgspec.Struct, frozen=True, tag="host"):
    """Some intervals in which the hypervisor stole processors, or the quota of a control group that the whole run is in
    held it back."""

    variant: str
    start: int
    intervals: list[int]
    """Four numbers for each, in microseconds: begin, end, stolen, held back. Both are sums over processors."""


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


ProcessorLine = ProcessorBlock | QuotaBlock | HostBlock | ProcessorSampling
