"""The audit of costs at rest: work and platform of a budget are the calibration's, on hosts of their speed.

The factor of costs follows from a reference loop that was timed before the run. One that was fitted to the run's delays
would book as platform whatever slowed the run down. So the loop was timed before the variant began, the factor that the
budget states is the ratio of its times, and the platform is what so many passages have at this factor. Of several hosts
each has its own, which holds for the brokers on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import UNSET

from analysis.auditing.evidence import BudgetRows, Evidence
from analysis.run_files.logs import scenario_time
from analysis.tables.summary import DelayBudget
from record.host_speed import HostSpeed
from record.time_units import MILLISECOND

_NEAR = 0.001
"""Share by which factors and sums may differ, because times are whole nanoseconds."""


def costs_at_rest(evidence: Evidence, rows: BudgetRows, budget: DelayBudget) -> Iterator[str]:
    """Costs of a run on real brokers that do not follow from calibration and loops."""
    if evidence.at_rest is UNSET:
        return
    factors: dict[str, float] = {}
    for host in evidence.hosts or [""]:
        speed = evidence.host_speeds.get(host)
        if speed is not None:
            yield from _timed_late(evidence, host, speed)
        measured = 1.0 if speed is None else speed.here.interpreter / speed.calibrated.interpreter
        used, factors[host] = _stated(budget, host), measured
        if abs(used - measured) > _NEAR * measured:
            yield f"costs are {used:.3f} of the calibration's, by the loop of {_named(host)} they are {measured:.3f}"
    yield from _platform(evidence, rows, budget, factors)


def _named(host: str) -> str:
    return host or "this host"


def _stated(budget: DelayBudget, host: str) -> float:
    """The factor that the budget states for a host."""
    if not host:
        return 1.0 if budget.cost_factor is UNSET else budget.cost_factor
    return 1.0 if budget.cost_factors is UNSET else budget.cost_factors.get(host, 1.0)


def _timed_late(evidence: Evidence, host: str, speed: HostSpeed) -> Iterator[str]:
    timed = scenario_time(speed.timed, evidence.variant.time_dilation)
    begin = min((phase.start for phase in evidence.variant.phases), default=timed)
    if timed > begin:
        yield f"the loop of {_named(host)} was timed {(timed - begin) / 1e9:.1f} s after the variant began"


def _platform(evidence: Evidence, rows: BudgetRows, budget: DelayBudget, factors: Mapping[str, float]) -> Iterator[str]:
    """A platform that is less than what all ways have at their ends, or more than with all that they may have."""
    rest, ways = evidence.at_rest, rows.ways
    if rest is UNSET or budget.notifications != ways.notifications or budget.parts.platform_ms is None:
        return
    scale = 1 / (evidence.variant.time_dilation * ways.notifications * MILLISECOND) if ways.notifications else 0.0
    to_clients = most = 0.0
    for row in rows.on_hosts:
        factor = scale * factors.get(row.host, 1.0)
        ended = factor * row.ended * _mean(rest.notify)
        to_clients += ended
        most += ended + factor * (row.begun * _mean(rest.submit) + row.passed * _mean(rest.link))
    platform, where = budget.parts.platform_ms, "these hosts" if evidence.hosts else "this host"
    if platform > most * (1 + _NEAR) + _NEAR:
        yield f"platform is {platform:.3f} ms, at rest these ways take {most:.3f} ms at most on {where}"
    if platform < to_clients * (1 - _NEAR) - _NEAR:
        yield f"platform is {platform:.3f} ms, at rest the ways to clients alone take {to_clients:.3f} ms on {where}"


def _mean(times: list[int]) -> float:
    return sum(times) / len(times) if times else 0.0
