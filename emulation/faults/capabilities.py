"""Capabilities of the runtimes: faults that each cannot inject, which are refused before a run begins."""

from __future__ import annotations

from collections.abc import Mapping

from record.errors import HostError
from record.faults import FaultKind
from scenario.faults.conditions import begins_by
from scenario.faults.planning import FaultSchedule

_NO_MOVES = "access links of real brokers do not move yet; the simulator moves them"

MISSING: Mapping[str, Mapping[FaultKind, str]] = {
    "process": {
        FaultKind.MOVE: _NO_MOVES,
        FaultKind.THROTTLE: "a plain process has no cgroup of its own; use containers, or `slow` with `service_time`",
    },
    "container": {FaultKind.MOVE: _NO_MOVES},
    "simulated": {
        FaultKind.THROTTLE: "virtual time has no CPU to share; use containers, or `slow` with `service_time`",
    },
}
"""Faults that a runtime cannot inject, with the reason, by the runtime's name."""


def require_possible(schedule: FaultSchedule, runtime: str) -> None:
    """Raises `HostError` naming the runtime and each kind of fault that it cannot inject, with the reason."""
    missing = MISSING.get(runtime, {})
    problems = {
        f"the runtime {runtime} cannot do {entry.name} ({begins_by(condition)}): {missing[begins_by(condition)]}": None
        for entry, condition in schedule.conditions
        if begins_by(condition) in missing
    }
    if problems:
        raise HostError("\n".join(problems))
