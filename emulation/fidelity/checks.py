"""Verdicts from measurements: one pure function for each promise."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from msgspec import UNSET

from emulation.fidelity import thresholds
from emulation.fidelity.advice import advice, remedies
from emulation.fidelity.carried_frames import CarriedDirection, loss_during
from emulation.fidelity.host import HostUse
from emulation.fidelity.loaded_links import wrong_directions
from emulation.fidelity.logs import LogFindings
from emulation.fidelity.planned_faults import planned_faults
from emulation.fidelity.series import ObservedInterval, samples
from emulation.fidelity.thresholds import Threshold
from emulation.fidelity.throttling import Throttling
from emulation.runtimes.interface import Ending
from emulation.verification.findings import Finding, Question
from record.fidelity import Check, FidelityVerdict, LinkBytes, LinkCheck, ProcessorUse, VariantFidelity, worst
from record.figures import JUDGED_LATER
from record.processors import NOT_SAMPLED
from record.wording import count_of

_SHOWN = 3
"""Examples that a detail names at most."""


@dataclass(frozen=True, slots=True)
class Relayed:
    """Counters of the relay over a variant's run phase."""

    frames: int
    missed: int
    """Frames that the kernel dropped because the relay did not read them in time."""
    held_up: float = 0.0
    """Share of the time in which the relay had work and did not run."""
    priority: str = ""
    """Scheduling class that the host granted the relay."""


@dataclass(slots=True, kw_only=True)
class Measurements:
    """Everything measured of one variant, in the time that really passed."""

    variant: str
    time_dilation: float = 1.0
    """The factor by which it ran slower than its scenario."""
    links: list[LinkCheck] = field(default_factory=list)
    host: HostUse | None = None
    own_cpu: float | None = None
    """Share of all CPUs used by the run itself: brokers, clients, relay, prober, emulator."""
    logs: LogFindings = field(default_factory=LogFindings)
    relay: Relayed | None = None
    """Counters of the relay; None when no relay ran."""
    carried: list[CarriedDirection] = field(default_factory=list)
    """The frames of each direction whose properties were not to change in the run phase."""
    sent: list[LinkBytes] = field(default_factory=list)
    """Bytes on links since the run phase began."""
    changed_logs: list[str] = field(default_factory=list)
    """A sentence on each node whose log was changed by another than its writer, or exceeded its quota."""
    endings: list[Ending] = field(default_factory=list)
    """Brokers that ended unexpectedly."""
    programs: list[str] | None = None
    """A sentence on each client program that failed; None where no client is a program."""
    defect: str = ""
    """Names the broker whose own code failed, for which the variant ended early; empty where none did."""
    unsettled: list[str] = field(default_factory=list)
    """Brokers that were not yet quiet when the run phase began."""
    throttling: Throttling | None = None
    """Throttling of brokers that have a quota of their own."""
    host_throttled: float | None = None
    """Share of the periods of a CPU quota on the whole emulation in which the quota was used up."""
    faults: list[Finding] = field(default_factory=list)
    """Findings on planned faults."""
    questions: list[Question] = field(default_factory=list)
    """Questions about planned faults that the logs are to answer."""
    intervals: list[ObservedInterval] = field(default_factory=list)
    """The run phase, second by second."""
    no_processor_times: str = ""
    """The reason why it is not known how long processes waited for a processor; empty where it is."""


def judge(measured: Measurements) -> VariantFidelity:
    """The verdict on one variant on real brokers: its worst check."""
    checks = [
        _links_before(measured.links),
        *_links_during(measured.links),
        *loss_during(measured.carried),
        *_relay(measured.relay),
        *_motion(measured.logs, measured.time_dilation),
        *_host(measured.host),
        _host_throttling(measured.host_throttled),
        *_throttling(measured.throttling),
        *_processor_times(measured.no_processor_times),
        _clocks(measured.logs),
        _losses(measured.logs),
        _unended(measured.logs),
        _torn(measured.logs),
        _changed_logs(measured.changed_logs),
        _endings(measured.endings),
        *_programs(measured.programs),
        *planned_faults(measured.faults, measured.time_dilation),
        _settling(measured.unsettled),
        JUDGED_LATER,
    ]
    processors = _processor_use(measured)
    return VariantFidelity(
        name=measured.variant,
        verdict=worst(check.verdict for check in checks),
        checks=checks,
        links=measured.links,
        samples=samples(measured.intervals, measured.logs, measured.time_dilation),
        advice=advice(checks, processors, measured.time_dilation),
        processors=processors,
        sent=measured.sent or UNSET,
    )


def _processor_use(measured: Measurements) -> ProcessorUse | None:
    return None if measured.host is None else ProcessorUse(busy=1 - measured.host.idle, own=measured.own_cpu)


def _processor_times(why_not: str) -> list[Check]:
    """The statement that it is not known how long processes waited for a processor; it is no verdict."""
    if not why_not:
        return []
    detail = f"not measured: {why_not}"
    return [Check(name=NOT_SAMPLED, value=None, unit="s", limit=None, verdict=FidelityVerdict.VALID, detail=detail)]


def judge_modelled(measured: Measurements) -> VariantFidelity:
    """The verdict on one variant in virtual time: its worst check. The audit judges its links and its brokers' work."""
    checks = [
        *_processor_times("simulated brokers wait for none"),
        _clocks(measured.logs),
        _losses(measured.logs),
        _unended(measured.logs),
        _torn(measured.logs),
        *planned_faults(measured.faults, measured.time_dilation),
        _settling(measured.unsettled),
    ]
    return VariantFidelity(
        name=measured.variant,
        verdict=worst(check.verdict for check in checks),
        checks=checks,
        links=[],
        advice=remedies(checks),
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
        detail=detail if verdict is FidelityVerdict.VALID else f"{detail}: {threshold.meaning}",
    )


def _unmeasured(threshold: Threshold, why: str) -> Check:
    return Check(
        name=threshold.name,
        value=None,
        unit=threshold.unit,
        limit=threshold.degraded,
        verdict=FidelityVerdict.VALID,
        detail=f"not measured: {why}",
    )


def _links_before(links: list[LinkCheck]) -> Check:
    probed = [link for link in links if link.phase == "before"]
    if not probed:
        return _unmeasured(thresholds.LINKS_BEFORE, "no link was probed before the load")
    wrong = [link for link in probed if not link.ok]
    detail = f"{len(probed) - len(wrong)} of {count_of(len(probed), 'direction')} within tolerance{_named(wrong)}"
    return _judged(thresholds.LINKS_BEFORE, len(wrong), detail)


def _links_during(links: list[LinkCheck]) -> list[Check]:
    probed = [link for link in links if link.phase == "during"]
    if not probed:
        limits = thresholds.LINKS_DURING, thresholds.PROBES_DURING
        return [_unmeasured(limit, "no link was probed during the load") for limit in limits]
    wrong, missed = wrong_directions(probed), [link for link in probed if not link.ok]
    directions = len({(link.a, link.b) for link in probed})
    there = max(directions, len({(link.a, link.b) for link in links}))
    found = f"{len(wrong)} of {count_of(directions, 'direction')} that were probed missed again and again, of {there}"
    share = f"{len(probed) - len(missed)} of {count_of(len(probed), 'probe')} within tolerance"
    return [
        _judged(thresholds.LINKS_DURING, len(wrong), f"{found}{_named(list(wrong.values()))}"),
        _judged(thresholds.PROBES_DURING, len(missed) / len(probed), f"{share}{_named(missed)}"),
    ]


def _named(links: Sequence[LinkCheck]) -> str:
    if not links:
        return ""
    shown = "; ".join(f"{link.a} to {link.b} {link.detail}".rstrip() for link in links[:_SHOWN])
    return f" ({shown}{'; ...' if len(links) > _SHOWN else ''})"


def _relay(relay: Relayed | None) -> list[Check]:
    if relay is None:
        return []
    total = relay.frames + relay.missed
    scheduled = f"its scheduling was {relay.priority}" if relay.priority else "its scheduling is not known"
    return [
        _judged(thresholds.RELAY_HELD_UP, relay.held_up * 100, f"for {relay.held_up:.2%} of the time; {scheduled}"),
        _judged(thresholds.RELAY_MISSED, relay.missed / max(1, total) * 100, f"{relay.missed} of {total} frames"),
    ]


def _motion(logs: LogFindings, dilation: float) -> Iterator[Check]:
    """The check on changes of the overlay, for an overlay that changed."""
    if logs.changes:
        late = percentile(logs.changes, 0.99) / dilation * 1e3
        worst_one = max(logs.changes) / dilation * 1e3
        detail = (
            f"99 of 100 of {len(logs.changes):,} changes were made within {late:.1f} ms, all within {worst_one:.1f} ms"
        )
        yield _judged(thresholds.MOTION_LATENESS, late, detail)


def _host(used: HostUse | None) -> list[Check]:
    if used is None:
        return [_unmeasured(thresholds.CPU_STEAL, "the run phase was too short to sample")]
    stolen = _judged(thresholds.CPU_STEAL, used.steal * 100, f"{used.steal * 100:.1f}%")
    if used.memory_pressure is None:
        return [stolen, _unmeasured(thresholds.MEMORY_PRESSURE, "this kernel has no /proc/pressure")]
    share = used.memory_pressure * 100
    return [stolen, _judged(thresholds.MEMORY_PRESSURE, share, f"{share:.0f}% of the time")]


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
            verdict=FidelityVerdict.VALID, detail=detail,
        )
    ]  # fmt: skip


def _host_throttling(share: float | None) -> Check:
    if share is None:
        return _unmeasured(thresholds.HOST_THROTTLED, "the run phase was too short to sample")
    return _judged(thresholds.HOST_THROTTLED, share * 100, f"{share:.0%}")


def _clocks(logs: LogFindings) -> Check:
    off = [f"{node}, {seconds:.0f} s off" for node, seconds in sorted(logs.other_clocks.items())[:_SHOWN]]
    known = len(logs.started.keys() | logs.stopped.keys())
    detail = "; ".join(off) or f"all {known} began and ended within the time of their variant"
    return _judged(thresholds.CLOCK_DOMAIN, len(logs.other_clocks), detail)


def _unended(logs: LogFindings) -> Check:
    detail = ", ".join(logs.unended[:_SHOWN]) + (", ..." if len(logs.unended) > _SHOWN else "")
    return _judged(thresholds.UNENDED_LOGS, len(logs.unended), detail or "none")


def _losses(logs: LogFindings) -> Check:
    lost = sum(logs.lost.values())
    where = f" at {', '.join(sorted(logs.lost)[:_SHOWN])}" if lost else ""
    return _judged(thresholds.LOG_LOSS, lost, f"{lost} of all nodes together{where}")


def _torn(logs: LogFindings) -> Check:
    return _judged(thresholds.TORN_LOGS, logs.torn, f"{logs.torn} in all logs")


def _changed_logs(faults: Sequence[str]) -> Check:
    return _judged(thresholds.CHANGED_LOGS, len(faults), "; ".join(faults) or "none")


def _endings(endings: list[Ending]) -> Check:
    detail = "; ".join(str(ending) for ending in endings) or "none"
    return _judged(thresholds.UNEXPECTED_ENDS, len(endings), detail)


def _programs(failures: Sequence[str] | None) -> list[Check]:
    if failures is None:
        return []
    return [_judged(thresholds.FAILED_PROGRAMS, len(failures), "; ".join(failures) or "none")]


def _settling(unsettled: list[str]) -> Check:
    names = ", ".join(unsettled[:_SHOWN]) + (", ..." if len(unsettled) > _SHOWN else "")
    detail = f"brokers {names} were not quiet" if unsettled else "all brokers were quiet"
    return _judged(thresholds.SETTLING, len(unsettled), detail)
