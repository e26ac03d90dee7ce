"""What would help a run whose host was too slow: an estimate of the time dilation under which it would keep up.

Work per second of real time falls in proportion as a run is slowed down, so a host that was busy for a share b of the
time under dilation d is busy for b * d / d' of it under d'. Processors that were busy all the time hide how much more
there was to do; the estimate is then the least that can be said, and is called so. Where processors were not busy and
somebody waited all the same, the wait is taken to last as long as before, which counts d'/d times less.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from emulation.fidelity import thresholds
from emulation.fidelity.host import HostUse
from emulation.fidelity.model import Check, Verdict
from emulation.fidelity.thresholds import Threshold

AIM = 0.6
"""Share of the time for which processors may be busy: comfortably less than what makes a run DEGRADED, since load
comes in bursts."""
SATURATED = 0.95
"""Processors that were busy for longer than this may have had any amount of work left."""

WAITS: tuple[Threshold, ...] = (thresholds.BROKER_LAG, thresholds.RELAY_LATENESS, thresholds.WORKLOAD_LATENESS)
"""Times that somebody had to wait; they count less in a slower run."""
SHORTAGES: tuple[Threshold, ...] = (
    *WAITS, thresholds.CPU_BUSY, thresholds.CPU_PRESSURE, thresholds.RELAY_HELD_UP, thresholds.RELAY_MISSED,
)  # fmt: skip
"""Checks that fail for lack of CPU."""


def advice(checks: Iterable[Check], host: HostUse | None, dilation: float) -> str:
    """Which dilation would do, in a sentence, when a run is INVALID for lack of CPU; nothing otherwise."""
    invalid = {check.name: check for check in checks if check.verdict is Verdict.INVALID}
    if not any(shortage.name in invalid for shortage in SHORTAGES):
        return ""
    busy = 0.0 if host is None else 1 - host.idle
    waits = [_excess(invalid[wait.name], wait) for wait in WAITS if wait.name in invalid]
    factor = busy / AIM if busy > AIM else max(waits, default=1.0)
    wanted = max(math.ceil(dilation * factor), math.floor(dilation) + 1)
    least = " or more" if busy > SATURATED else ""
    return (
        f"this host was too slow: an estimated `time_dilation: {wanted}`{least} would let it keep up (CPUs were busy "
        f"for {busy:.0%} of the time at a dilation of {dilation:g}; {AIM:.0%} leaves room for bursts). If other "
        "programs kept the CPUs busy, end those first"
    )


def _excess(check: Check, threshold: Threshold) -> float:
    return 1.0 if check.value is None else check.value / threshold.degraded
