"""What would help a run that is not VALID.

Where the host was too slow, that is an estimate of the time dilation under which it would keep up; for all else, the
remedies that stand beside the limits.

The work of a run is spread over more time as it is slowed down, so a run that takes the share u of the host's CPUs
under dilation d takes u * d / d' of them under d'. CPUs that were busy all the time hide how much more there was to do;
the estimate is then the least that can be said, and is called so. Where a run waited though it had little to do, the
wait is taken to last as long as before, which under d' counts d' / d times less. What other programs did is not slowed
down by dilation, and is left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from emulation.fidelity import thresholds
from emulation.fidelity.host import HostUse
from emulation.fidelity.thresholds import Threshold
from record.fidelity import Check, Verdict

AIM = 0.6
"""Share of the CPUs that a run should take: comfortably less than what makes it DEGRADED, since load has bursts."""
SATURATED = 0.95
"""CPUs that were busy for longer than this may have had any amount of work left."""
OTHERS = 0.2
"""Other programs that took more than this are worth a word."""

WAITS: tuple[Threshold, ...] = (thresholds.BROKER_LAG, thresholds.RELAY_LATENESS, thresholds.WORKLOAD_LATENESS)
"""Times that somebody had to wait; they count less in a slower run."""
SHORTAGES: tuple[Threshold, ...] = (
    *WAITS, thresholds.CPU_BUSY, thresholds.CPU_PRESSURE, thresholds.RELAY_HELD_UP, thresholds.RELAY_MISSED,
)  # fmt: skip
"""Checks that fail for lack of CPU."""
REMEDIES: Mapping[str, str] = {
    limit.name: limit.remedy
    for limit in vars(thresholds).values()
    if isinstance(limit, Threshold) and limit not in SHORTAGES
}
"""By the check's name."""


def advice(checks: Iterable[Check], host: HostUse | None, own: float | None, dilation: float) -> str:
    """What would do for a run in real time, in a sentence or a few; nothing for one that is VALID."""
    failed = [check for check in checks if check.verdict is not Verdict.VALID]
    short = {check.name: check for check in failed if check.name not in REMEDIES}
    return ". ".join(filter(None, (_slower(short, host, own, dilation), remedies(failed))))


def remedies(checks: Iterable[Check]) -> str:
    """What would help against all but lack of CPU, severest first."""
    failed = [check for check in checks if check.verdict is not Verdict.VALID and check.name in REMEDIES]
    failed.sort(key=lambda check: -check.verdict.severity)
    return ". ".join(f"{check.name}: {REMEDIES[check.name]}" for check in failed)


def _slower(short: Mapping[str, Check], host: HostUse | None, own: float | None, dilation: float) -> str:
    if not short:
        return ""
    busy = 0.0 if host is None else 1 - host.idle
    used = busy if own is None else min(own, busy)
    waits = [_excess(short[wait.name], wait) for wait in WAITS if wait.name in short]
    worst = "too slow" if any(check.verdict is Verdict.INVALID for check in short.values()) else "nearly too slow"
    return f"{_others(busy - used)}{_dilation(worst, used, busy, max(waits, default=1.0), dilation)}"


def _others(used: float) -> str:
    if used <= OTHERS:
        return ""
    return f"Other programs took {used:.0%} of this host's CPUs: end those first, for dilation does not slow them. "


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
