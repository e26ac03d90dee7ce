"""Every limit of the fidelity verdict, with its reason, in one place.

A value beyond `degraded` makes a run DEGRADED, one beyond `invalid` makes it INVALID. Both are in the check's unit.
Times are the scenario's: with a time dilation of 5, what took 10 ms here counts as 2 ms. docs/fidelity.md describes how
each value is measured; `emulation.network.probing.tolerance` has the tolerances of a single link.

There is no limit on how busy processors were, on how late event loops, the relay and publications were, or on how long
anything waited for a processor. All of that is in the budget of the delays, as contention or as unexplained, and is
judged by what it did to each figure (`record.figures`). Limits stand here on what no budget covers:

- links, clocks, logs and planned faults, because the budget takes them to be as stated;
- frames that are lost or held up in the relay, because these need not be notifications: subscriptions, acknowledgements
  and heartbeats wait there, too, and runs whose logs are a sample have no budget;
- stolen processors, memory and quotas on the whole run, because the kernel does not count them as waiting of a process.
"""

from __future__ import annotations

from dataclasses import dataclass

from record.fidelity import FidelityVerdict


@dataclass(frozen=True, slots=True)
class Threshold:
    """The limits of one check."""

    name: str
    unit: str
    degraded: float
    invalid: float
    meaning: str
    """The effect of a value beyond the limit on the measurements."""
    remedy: str
    """The remedy, as an imperative."""

    def verdict(self, value: float) -> FidelityVerdict:
        if value > self.invalid:
            return FidelityVerdict.INVALID
        return FidelityVerdict.DEGRADED if value > self.degraded else FidelityVerdict.VALID


_SLOWER = "run slower (`time_dilation`, by as much as the verdict estimates), with nothing else on this host"

LINKS_BEFORE = Threshold(
    # A direction that three measurements in a row find wrong is wrong, and one is enough to spoil what passes over it.
    "links before load", "directions", 0.0, 0.0,
    "these links do not have the delay, jitter, rate or loss that was asked for",
    "see which links in the report; end what else uses this host or shapes its traffic, or take the other link driver "
    "(`--links`)",
)  # fmt: skip
LINKS_DURING = Threshold(
    # A direction counts when its probes miss in so many rounds that a late host explains it in 1 of 1,000 runs.
    "links during load", "directions", 0.0, 0.0,
    "under load these links are not what was asked for",
    "see in the report which links, and when; end what shapes their traffic, or take the other link driver (`--links`)",
)  # fmt: skip
PROBES_DURING = Threshold(
    # Probes share the links with the traffic and the CPU with the load, so a few may be out of tolerance.
    "probes during load", "share out of tolerance", 0.10, 0.50,
    "under load many links are not what was asked for",
    "see in the report which links, and when; a host that is too busy delays them: run slower (`time_dilation`), or "
    "with fewer messages",
)  # fmt: skip
LOSS_DURING = Threshold(
    # A direction counts when chance explains the number of lost frames in 1 of 1,000 runs.
    "loss of links during load", "directions", 0.0, 0.0,
    "these links did not lose the share of frames that was asked for",
    "see whether something else changed the links while the run lasted, or take the other link driver (`--links`)",
)  # fmt: skip
RELAY_HELD_UP = Threshold(
    # Frames that arrive in the meantime are read late, which their own lateness does not show. As long as these are
    # fewer than one in a hundred, percentiles up to the 99th hardly change; at half of that, the 99th is what the
    # 99.5th would be. A virtual machine that stands still for 50 ms twice a minute is at 0.2.
    "relay held up", "% of the run phase", 0.5, 1.0,
    "the relay did not get the CPU, or was stopped; frames that came meanwhile were carried on late",
    _SLOWER,
)  # fmt: skip
RELAY_MISSED = Threshold(
    # Loss that the scenario did not ask for; brokers' streams repair it, but late.
    "frames the relay missed", "%", 0.0, 0.1,
    "the relay did not get the CPU in time, and the kernel dropped what waited for it",
    _SLOWER,
)  # fmt: skip
MOTION_LATENESS = Threshold(
    # A change takes a few milliseconds, because two brokers are asked for it; links that are rewired live for seconds.
    "changes of links made late, 99th percentile", "ms", 50.0, 500.0,
    "links appeared and vanished later than planned, so brokers were connected otherwise meanwhile",
    _SLOWER,
)  # fmt: skip
CPU_STEAL = Threshold(
    "CPU stolen by the hypervisor", "%", 2.0, 10.0,
    "the host's own CPUs were taken away for part of the run",
    "this host is a virtual machine with busy neighbours: run it again later, or on a host of its own",
)  # fmt: skip
MEMORY_PRESSURE = Threshold(
    "memory pressure", "%", 1.0, 10.0,
    "for this share of the time something waited for memory, mostly to be read back from disk",
    "take fewer brokers or subscribers, or a host with more memory",
)  # fmt: skip
HOST_THROTTLED = Threshold(
    # A quota on the whole emulation makes all brokers wait at once, as no overlay of separate machines does.
    "periods in which a CPU quota held the emulation back", "%", 1.0, 10.0,
    "this host, or the container that it is, may not use its CPUs all the time",
    "lift the CPU quota of the machine or the container that brokerlab runs in",
)  # fmt: skip
CLOCK_DOMAIN = Threshold(
    # A delay is the difference of two readings; it is meaningful only when they are of one clock.
    "nodes with another clock", "nodes", 0.0, 0.0,
    "times of different nodes cannot be compared, so no delay is right",
    "have all nodes log by one clock; `brokerlab emulate --hosts` compares those of several hosts",
)  # fmt: skip
LOG_LOSS = Threshold(
    # The delivery verdict rests on complete logs.
    "log records lost", "records", 0.0, 0.0,
    "the logs are incomplete, so losses and duplicates cannot be told from missing records",
    "let runs be made on a faster disk with more room (`--out`), or publish less",
)  # fmt: skip
UNENDED_LOGS = Threshold(
    # A node that ends in order logs that, unless it cannot write.
    "logs without an end", "nodes", 0.0, 0.0,
    "these nodes could not write to the end, so records are missing",
    "see whether there is room on the disk; `--out` puts runs on another",
)  # fmt: skip
TORN_LOGS = Threshold(
    "unreadable log lines", "lines", 0.0, 100.0,
    "a node was ended while it wrote; what it wrote last is missing",
    "see whether there is room on the disk, and whether somebody ended processes of the run",
)  # fmt: skip
CHANGED_LOGS = Threshold(
    # Nodes only append to their logs. Whatever else happens to a log is another's doing, or a broken node's.
    "logs changed under their writers", "nodes", 0.0, 0.0,
    "records of these nodes are missing or forged, so no verdict can rest on them",
    "see in the detail which logs; a larger one is allowed by `logs.quota`, and nobody but a node may change its log",
)  # fmt: skip
PLANNED_FAULTS = Threshold(
    # A fault that did not happen makes every verdict about recovery one about nothing.
    "planned faults that did not happen", "changes", 0.0, 0.0,
    "what the scenario plans to go wrong or to be healed was not so",
    "see which ones in the detail; a host that is too busy makes changes late, and `brokerlab doctor` shows what this "
    "host lacks",
)  # fmt: skip
UNEXPECTED_ENDS = Threshold(
    "brokers that ended by themselves", "brokers", 0.0, 0.0,
    "the overlay that ran is not the one that was asked for",
    "each reason stands with the broker's name; one that was killed may need more memory (`brokers.memory`)",
)  # fmt: skip
FAILED_PROGRAMS = Threshold(
    "client programs that failed", "programs", 0.0, 0.0,
    "clients did something else than their programs were meant to do",
    "each reason stands with the program's name; what it printed is in `programs` of its variant's folder",
)  # fmt: skip
SETTLING = Threshold(
    "join traffic in flight when the run phase began", "brokers", 0.0, float("inf"),
    "subscriptions and advertisements were still spreading, and the first publications met an overlay in motion",
    "lengthen `timeline.join`",
)  # fmt: skip
