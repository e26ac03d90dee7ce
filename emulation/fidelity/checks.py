"""From measurements to verdicts: one function a promise, each a plain function of what was measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from emulation.fidelity import thresholds
from emulation.fidelity.advice import advice
from emulation.fidelity.host import HostUse
from emulation.fidelity.logs import LogFindings
from emulation.fidelity.series import Stretch, samples
from emulation.fidelity.thresholds import Threshold
from emulation.fidelity.throttling import Throttling
from emulation.runtimes.interface import Ending
from record.fidelity import Check, LinkCheck, VariantFidelity, Verdict, worst

_SHOWN = 3
"""How many examples a detail names."""


@dataclass(frozen=True, slots=True)
class Relayed:
    """What the relay did with the frames of a variant's run phase."""

    lateness: float
    """Seconds by which 99 of 100 frames missed their time at most."""
    frames: int
    missed: int
    """Frames that the kernel dropped because the relay did not take them in time."""
    held_up: float = 0.0
    """Share of the time in which it did nothing though it should have."""
    priority: str = ""
    """The scheduling that the host let it have."""


@dataclass(slots=True, kw_only=True)
class Measurements:
    """Everything measured of one variant."""

    variant: str
    time_dilation: float = 1.0
    """How many times slower than the scenario it ran. Everything measured is in the time that really passed."""
    links: list[LinkCheck] = field(default_factory=list)
    host: HostUse | None = None
    own_cpu: float | None = None
    """Share of all CPUs that the run itself used: brokers, clients, relay, prober, emulator."""
    logs: LogFindings = field(default_factory=LogFindings)
    relay: Relayed | None = None
    """None where no relay ran."""
    endings: list[Ending] = field(default_factory=list)
    """Brokers that ended though nobody ended them."""
    defect: str = ""
    """Names the broker whose own code failed, for which the variant ended early; empty where none did."""
    unsettled: list[str] = field(default_factory=list)
    """Brokers that were not yet quiet when the run phase began."""
    quotas: bool = False
    """Whether the scenario holds brokers back by a quota, always or as a fault."""
    throttling: Throttling | None = None
    """Of brokers with a quota of their own."""
    host_throttled: float | None = None
    """Share of the periods of a quota on the whole emulation in which it was used up."""
    stretches: list[Stretch] = field(default_factory=list)
    """The run phase, second by second."""


def judge(measured: Measurements) -> VariantFidelity:
    """The verdict on one variant: its worst check."""
    checks = [
        *(_links(measured.links, phase) for phase in ("before", "during")),
        *_relay(measured.relay, measured.time_dilation),
        _lag(measured.logs, measured.time_dilation, measured.throttling),
        lateness(measured.logs, measured.time_dilation),
        *_host(measured.host, measured.own_cpu, quotas=measured.quotas),
        _host_throttling(measured.host_throttled),
        *_throttling(measured.throttling),
        clocks(measured.logs),
        losses(measured.logs),
        unended(measured.logs),
        torn(measured.logs),
        _endings(measured.endings),
        settling(measured.unsettled),
    ]
    return VariantFidelity(
        name=measured.variant,
        verdict=worst(check.verdict for check in checks),
        checks=checks,
        links=measured.links,
        samples=samples(measured.stretches, measured.logs, measured.time_dilation),
        advice=advice(checks, measured.host, measured.own_cpu, measured.time_dilation),
    )


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of the values does not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def _judged(threshold: Threshold, value: float, detail: str) -> Check:
    verdict = threshold.verdict(value)
    return Check(
        name=threshold.name,
        value=value,
        unit=threshold.unit,
        limit=threshold.degraded,
        verdict=verdict,
        detail=detail if verdict is Verdict.VALID else f"{detail}: {threshold.meaning}",
    )


def _unmeasured(threshold: Threshold, why: str) -> Check:
    return Check(
        name=threshold.name,
        value=None,
        unit=threshold.unit,
        limit=threshold.degraded,
        verdict=Verdict.VALID,
        detail=f"not measured: {why}",
    )


def _links(links: list[LinkCheck], phase: str) -> Check:
    threshold = thresholds.LINKS_BEFORE if phase == "before" else thresholds.LINKS_DURING
    probed = [link for link in links if link.phase == phase]
    if not probed:
        return _unmeasured(threshold, "no link was probed in this phase")
    failed = [link for link in probed if not link.ok]
    directions = len({(link.a, link.b) for link in probed})
    there = max(directions, len({(link.a, link.b) for link in links}))
    detail = f"{len(probed) - len(failed)} of {len(probed)} probes within tolerance, {directions} of {there} directions"
    if failed:
        shown = "; ".join(f"{link.a} to {link.b} {link.detail}".rstrip() for link in failed[:_SHOWN])
        detail += f" ({shown}{'; ...' if len(failed) > _SHOWN else ''})"
    return _judged(threshold, len(failed) / len(probed), detail)


def _relay(relay: Relayed | None, dilation: float) -> list[Check]:
    if relay is None:
        return []
    late = relay.lateness / dilation * 1e3
    total = relay.frames + relay.missed
    left = f"99 of 100 frames left within {late:.2f} ms of their time"
    scheduled = f"its scheduling was {relay.priority}" if relay.priority else "its scheduling is not known"
    return [
        _judged(thresholds.RELAY_LATENESS, late, f"{left}; {scheduled}"),
        _judged(thresholds.RELAY_HELD_UP, relay.held_up * 100, f"for {relay.held_up:.2%} of the time; {scheduled}"),
        _judged(thresholds.RELAY_MISSED, relay.missed / max(1, total) * 100, f"{relay.missed} of {total} frames"),
    ]


def _lag(logs: LogFindings, dilation: float, throttling: Throttling | None) -> Check:
    if throttling is not None and throttling.share > 0:
        return _unmeasured(
            thresholds.BROKER_LAG, "the quota that the scenario gives brokers holds them up, as asked for"
        )
    milliseconds = [lag / dilation * 1e3 for lags in logs.lag.values() for lag in lags]
    if not milliseconds:
        return _unmeasured(thresholds.BROKER_LAG, "no node logged its lag in the run phase")
    late = percentile(milliseconds, 0.95)
    node = max(logs.lag, key=lambda name: max(logs.lag[name]))
    detail = f"{late:.1f} ms; the longest single wait was {max(milliseconds):.1f} ms, at {node}"
    return _judged(thresholds.BROKER_LAG, late, detail)


def lateness(logs: LogFindings, dilation: float) -> Check:
    """How late publications were handed over."""
    if not logs.lateness:
        return _unmeasured(thresholds.WORKLOAD_LATENESS, "nothing was published in the run phase")
    late = percentile(logs.lateness, 0.99) / dilation * 1e3
    detail = f"99 of 100 publications within {late:.1f} ms of their planned time, all within"
    return _judged(thresholds.WORKLOAD_LATENESS, late, f"{detail} {max(logs.lateness) / dilation * 1e3:.1f} ms")


def _host(used: HostUse | None, own: float | None, *, quotas: bool) -> list[Check]:
    if used is None:
        return [_unmeasured(thresholds.CPU_BUSY, "the run phase was too short to sample")]
    busy, busiest = (1 - used.idle) * 100, (1 - used.lowest_idle) * 100
    ours = "" if own is None else f" ({own:.0%} by the run itself)"
    checks = [
        _judged(thresholds.CPU_BUSY, busy, f"{busy:.0f}% on average{ours}, {busiest:.0f}% in the busiest second"),
        _judged(thresholds.CPU_STEAL, used.steal * 100, f"{used.steal * 100:.1f}%"),
    ]
    if quotas:
        why = "brokers that have used up the quota that the scenario gives them wait for a CPU, too; CPU busy has to do"
        checks.append(_unmeasured(thresholds.CPU_PRESSURE, why))
    else:
        checks.append(_pressure(thresholds.CPU_PRESSURE, used.cpu_pressure))
    return [*checks, _pressure(thresholds.MEMORY_PRESSURE, used.memory_pressure)]


def _pressure(threshold: Threshold, share: float | None) -> Check:
    if share is None:
        return _unmeasured(threshold, "this kernel has no /proc/pressure; CPU idle and event loop lag have to do")
    return _judged(threshold, share * 100, f"{share * 100:.0f}% of the time")


def _throttling(throttling: Throttling | None) -> list[Check]:
    if throttling is None:
        return []
    detail = (
        f"brokers used up their quota of {throttling.quota:g} CPU in {throttling.share:.0%} of its periods, "
        "which is what a quota is for"
    )
    return [
        Check(
            name="brokers throttled by their quota", value=throttling.share * 100, unit="%", limit=None,
            verdict=Verdict.VALID, detail=detail,
        )
    ]  # fmt: skip


def _host_throttling(share: float | None) -> Check:
    if share is None:
        return _unmeasured(thresholds.HOST_THROTTLED, "the run phase was too short to sample")
    return _judged(thresholds.HOST_THROTTLED, share * 100, f"{share:.0%}")


def clocks(logs: LogFindings) -> Check:
    """Whether all nodes wrote their times by one clock."""
    strangers = [f"{node}, {off:.0f} s off" for node, off in sorted(logs.strangers.items())[:_SHOWN]]
    known = len(logs.started.keys() | logs.stopped.keys())
    detail = "; ".join(strangers) or f"all {known} began and ended within the time of their variant"
    return _judged(thresholds.CLOCK_DOMAIN, len(logs.strangers), detail)


def unended(logs: LogFindings) -> Check:
    """Whether each log says that its node ended, as whoever can still write does."""
    detail = ", ".join(logs.unended[:_SHOWN]) + (", ..." if len(logs.unended) > _SHOWN else "")
    return _judged(thresholds.UNENDED_LOGS, len(logs.unended), detail or "none")


def losses(logs: LogFindings) -> Check:
    """Log records that could not be kept."""
    lost = sum(logs.lost.values())
    where = f" at {', '.join(sorted(logs.lost)[:_SHOWN])}" if lost else ""
    return _judged(thresholds.LOG_LOSS, lost, f"{lost} of all nodes together{where}")


def torn(logs: LogFindings) -> Check:
    """Log lines that cannot be read."""
    return _judged(thresholds.TORN_LOGS, logs.torn, f"{logs.torn} in all logs")


def _endings(endings: list[Ending]) -> Check:
    detail = "; ".join(str(ending) for ending in endings) or "none"
    return _judged(thresholds.UNEXPECTED_ENDS, len(endings), detail)


def settling(unsettled: list[str]) -> Check:
    """Whether the join phase was long enough."""
    names = ", ".join(unsettled[:_SHOWN]) + (", ..." if len(unsettled) > _SHOWN else "")
    detail = f"brokers {names} were not quiet" if unsettled else "all brokers were quiet"
    return _judged(thresholds.SETTLING, len(unsettled), detail)
