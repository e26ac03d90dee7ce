"""Capabilities of the runtimes: faults that each cannot inject, which are refused before a run begins."""

from __future__ import annotations

from collections.abc import Container, Mapping

from record.errors import HostError
from record.faults import FaultKind
from scenario.faults.conditions import Moving, begins_by
from scenario.faults.planning import FaultSchedule

MISSING: Mapping[str, Mapping[FaultKind, str]] = {
    "process": {
        FaultKind.THROTTLE: "a plain process has no cgroup of its own; use containers, or `slow` with `service_time`",
    },
    "simulated": {
        FaultKind.THROTTLE: "virtual time has no CPU to share; use containers, or `slow` with `service_time`",
    },
}
"""Faults that a runtime cannot inject, with the reason, by the runtime's name."""
MOST_LATER_ACCESS_LINKS = 1_000
"""Access links that a host makes besides those that sites have at the begin."""


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


def require_few_access_links(later: int, runtime: str) -> None:
    """Raises `HostError` for more access links than a host makes for moves; `later` are those that sites do not have
    at the begin. Virtual time makes each when a site comes."""
    if runtime != "simulated" and later > MOST_LATER_ACCESS_LINKS:
        raise HostError(
            f"moves of sites lead over {later:,} further access links, each of which is made and probed before the run "
            f"on real brokers, and {MOST_LATER_ACCESS_LINKS:,} is the most: name fewer `sites` or brokers in `to`, "
            "lower the rate, or use the simulator"
        )


def require_programs_stay(schedule: FaultSchedule, programs: Container[str]) -> None:
    """Raises `HostError` for a move of a client program, whose relay reaches one broker from one site."""
    for entry, condition in schedule.conditions:
        if isinstance(condition, Moving):
            for client in condition.target.clients:
                if client in programs:
                    raise HostError(
                        f"{entry.name}: {client} is a client program, which does not move, because its relay reaches "
                        "one broker from one site: name others"
                    )
