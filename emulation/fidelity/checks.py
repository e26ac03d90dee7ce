"""From measurements to verdicts: one function a promise, each a plain function of what was measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from emulation.fidelity import thresholds
from emulation.fidelity.host import HostUse
from emulation.fidelity.logs import LogFindings
from emulation.fidelity.model import Check, LinkCheck, VariantFidelity, Verdict, worst
from emulation.fidelity.thresholds import Threshold
from emulation.fidelity.throttling import Throttling
from emulation.runtimes.interface import Ending

_SHOWN = 3
"""How many examples a detail names."""


@dataclass(frozen=True, slots=True)
class Relayed:
    """What the relay did with the frames of a variant."""

    lateness: float
    """Seconds by which 99 of 100 frames missed their time at most."""
    frames: int
    missed: int
    """Frames that the kernel dropped because the relay did not take them in time."""


@dataclass(slots=True, kw_only=True)
class Measurements:
    """Everything measured of one variant."""

    variant: str
    time_dilation: float = 1.0
    """How many times slower than the scenario it ran. Everything measured is in the time that really passed."""
    links: list[LinkCheck] = field(default_factory=list)
    host: HostUse | None = None
    logs: LogFindings = field(default_factory=LogFindings)
    relay: Relayed | None = None
    """None where no relay ran."""
    endings: list[Ending] = field(default_factory=list)
    """Brokers that ended though nobody ended them."""
    unsettled: list[str] = field(default_factory=list)
    """Brokers that were not yet quiet when the run phase began."""
    throttling: Throttling | None = None


def judge(measured: Measurements) -> VariantFidelity:
    """The verdict on one variant: its worst check."""
    checks = [
        *(_links(measured.links, phase) for phase in ("before", "during")),
        *_relay(measured),
        _lag(measured.logs),
        lateness(measured.logs),
        *_host(measured.host),
        *_throttling(measured.throttling),
        losses(measured.logs),
        torn(measured.logs),
        _endings(measured.endings),
        settling(measured.unsettled),
    ]
    return VariantFidelity(
        name=measured.variant,
        verdict=worst(check.verdict for check in checks),
        checks=checks,
        links=measured.links,
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
    detail = f"{len(probed) - len(failed)} of {len(probed)} probed link directions within tolerance"
    if failed:
        shown = "; ".join(f"{link.a} to {link.b} {link.detail}".rstrip() for link in failed[:_SHOWN])
        detail += f" ({shown}{'; ...' if len(failed) > _SHOWN else ''})"
    return _judged(threshold, len(failed) / len(probed), detail)


def _relay(measured: Measurements) -> list[Check]:
    if (relay := measured.relay) is None:
        return []
    late = relay.lateness * 1e3
    missed = relay.missed / max(1, relay.frames + relay.missed) * 100
    return [
        _judged(thresholds.RELAY_LATENESS, late, f"99 of 100 frames left within {late:.2f} ms of their time"),
        _judged(thresholds.RELAY_MISSED, missed, f"{relay.missed} of {relay.frames + relay.missed} frames"),
    ]


def _lag(logs: LogFindings) -> Check:
    seconds = [lag for lags in logs.lag.values() for lag in lags]
    if not seconds:
        return _unmeasured(thresholds.BROKER_LAG, "no node logged its lag in the run phase")
    late = percentile(seconds, 0.95) * 1e3
    node = max(logs.lag, key=lambda name: max(logs.lag[name]))
    detail = f"{late:.1f} ms; the longest single wait was {max(logs.lag[node]) * 1e3:.1f} ms, at {node}"
    return _judged(thresholds.BROKER_LAG, late, detail)


def lateness(logs: LogFindings) -> Check:
    """How late publications were handed over."""
    if not logs.lateness:
        return _unmeasured(thresholds.WORKLOAD_LATENESS, "nothing was published in the run phase")
    late = percentile(logs.lateness, 0.99) * 1e3
    detail = f"99 of 100 publications within {late:.1f} ms of their planned time, all within"
    return _judged(thresholds.WORKLOAD_LATENESS, late, f"{detail} {max(logs.lateness) * 1e3:.1f} ms")


def _host(used: HostUse | None) -> list[Check]:
    if used is None:
        return [_unmeasured(thresholds.CPU_BUSY, "the run phase was too short to sample")]
    busy, busiest = (1 - used.idle) * 100, (1 - used.lowest_idle) * 100
    checks = [
        _judged(thresholds.CPU_BUSY, busy, f"{busy:.0f}% on average, {busiest:.0f}% in the busiest second"),
        _judged(thresholds.CPU_STEAL, used.steal * 100, f"{used.steal * 100:.1f}%"),
    ]
    for threshold, share in (
        (thresholds.CPU_PRESSURE, used.cpu_pressure),
        (thresholds.MEMORY_PRESSURE, used.memory_pressure),
    ):
        if share is None:
            checks.append(_unmeasured(threshold, "this kernel has no /proc/pressure"))
        else:
            checks.append(_judged(threshold, share * 100, f"{share * 100:.0f}% of the time"))
    return checks


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
