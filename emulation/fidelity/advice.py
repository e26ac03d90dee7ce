"""Advice for a run that is not VALID.

For a host that was too slow, the advice is an estimate of the time dilation under which it would keep up; for every
other failed check, it is the remedy that stands beside the limit.

A slower run spreads its work over more time, so a run that takes the share u of the host's CPUs under dilation d takes
u * d / d' of them under d'. CPUs that were busy all the time may have had any amount of further work, so the estimate
is then a lower bound, and is called so. Where a run waited although it had little to do, the wait is assumed to last as
long as before, which under d' counts d' / d times less. Other programs are not slowed down by dilation and are left
out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from emulation.fidelity import thresholds
from emulation.fidelity.host import HostUse
from emulation.fidelity.thresholds import Threshold
from record.fidelity import Check, FidelityVerdict

AIM = 0.6
"""Share of the CPUs that a run should take: well below the limit of DEGRADED, because load has bursts."""
SATURATED = 0.95
"""CPUs that were busy for a larger share of the time may have had any amount of work left."""
OTHERS = 0.2
"""Other programs are mentioned when they took a larger share of the CPUs."""

WAITS: tuple[Threshold, ...] = (thresholds.BROKER_LAG, thresholds.RELAY_LATENESS, thresholds.WORKLOAD_LATENESS)
"""Waiting times, which count less in a slower run."""
SHORTAGES: tuple[Threshold, ...] = (
    *WAITS, thresholds.CPU_BUSY, thresholds.CPU_PRESSURE, thresholds.RELAY_HELD_UP, thresholds.RELAY_MISSED,
)  # fmt: skip
"""Checks that fail for lack of CPU."""
REMEDIES: Mapping[str, str] = {
    limit.name: limit.remedy
    for limit in vars(thresholds).values()
    if isinstance(limit, Threshold) and limit not in SHORTAGES
}
"""The remedy of each other check, by the check's name."""


def advice(checks: Iterable[Check], host: HostUse | None, own: float | None, dilation: float) -> str:
    """One or a few sentences of advice for a run on real brokers; empty for a VALID one."""
    failed = [check for check in checks if check.verdict is not FidelityVerdict.VALID]
    short = {check.name: check for check in failed if check.name not in REMEDIES}
    return ". ".join(filter(None, (_slower(short, host, own, dilation), remedies(failed))))


def remedies(checks: Iterable[Check]) -> str:
    """The remedies of failed checks other than lack of CPU, severest first."""
    failed = [check for check in checks if check.verdict is not FidelityVerdict.VALID and check.name in REMEDIES]
    failed.sort(key=lambda check: -check.verdict.severity)
    return ". ".join(f"{check.name}: {REMEDIES[check.name]}" for check in failed)


def _slower(short: Mapping[str, Check], host: HostUse | None, own: float | None, dilation: float) -> str:
    if not short:
        return ""
    busy = 0.0 if host is None else 1 - host.idle
    used = busy if own is None else min(own, busy)
    waits = [_excess(short[wait.name], wait) for wait in WAITS if wait.name in short]
    worst = (
        "too slow" if any(check.verdict is FidelityVerdict.INVALID for check in short.values()) else "nearly too slow"
    )
    return f"{_others(busy - used)}{_dilation(worst, used, busy, max(waits, default=1.0), dilation)}"


def _others(used: float) -> str:
    if used <= OTHERS:
        return ""
    return f"Other programs took {used:.0%} of this host's CPUs: end those first, because dilation does not slow them. "


def _dilation(slow: str, used: float, busy: float, wait: float, dilation: float) -> str:
    if used <= AIM and busy - used > OTHERS:
        return f"The run itself took {used:.0%}, which leaves room enough at a dilation of {dilation:g}"
    wanted = max(math.ceil(dilation * (used / AIM if used > AIM else wait)), math.floor(dilation) + 1)
    least = " or more" if busy > SATURATED else ""
    return (
        f"This host was {slow}: an estimated `--set time_dilation={wanted}`{least} would let it keep up (the run took "
        f"{used:.0%} of the CPUs at a dilation of {dilation:g}; {AIM:.0%} leaves room for bursts)"
    )


def _excess(check: Check, threshold: Threshold) -> float:
    return 1.0 if check.value is None else check.value / threshold.degraded
