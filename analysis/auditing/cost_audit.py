"""The audit of costs at rest: work and platform of a budget are the calibration's, on a host of this speed.

The scale of costs follows from reference loops that were timed before the run. One that was fitted to the run's delays
would book as platform whatever slowed the run down. So loops were timed before the variant began, the factors that the
budget states are the ratios of their times, and the platform is what so many passages have at these factors.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import UNSET

from analysis.auditing.evidence import Evidence
from analysis.auditing.way_sums import WaySums
from analysis.run_files.logs import scenario_time
from analysis.tables.summary import DelayBudget
from record.host_speed import CostScale, HostSpeed
from record.manifest import ChargedCosts
from record.time_units import MILLISECOND

_NEAR = 0.001
"""Share by which factors and sums may differ, because times are whole nanoseconds."""


def costs_at_rest(evidence: Evidence, ways: WaySums, budget: DelayBudget) -> Iterator[str]:
    """Costs of a run on real brokers that do not follow from calibration and loops."""
    if evidence.at_rest is UNSET:
        return
    work = platform = 1.0
    if evidence.host_speed is not UNSET:
        yield from _timed_late(evidence, evidence.host_speed)
        work, platform = _ratios(evidence.host_speed)
    stated = CostScale() if budget.costs is UNSET else budget.costs
    for name, used, measured in (("work", stated.work, work), ("platform", stated.platform, platform)):
        if abs(used - measured) > _NEAR * measured:
            yield f"{name} is {used:.3f} of the calibration's, by the loops of this host it is {measured:.3f}"
    yield from _platform(evidence.at_rest, ways, budget, platform / evidence.variant.time_dilation)


def _timed_late(evidence: Evidence, speed: HostSpeed) -> Iterator[str]:
    timed = scenario_time(speed.timed, evidence.variant.time_dilation)
    begin = min((phase.start for phase in evidence.variant.phases), default=timed)
    if timed > begin:
        yield f"the loops of this host were timed {(timed - begin) / 1e9:.1f} s after the variant began"


def _ratios(speed: HostSpeed) -> tuple[float, float]:
    """The factors of work and platform, by the times of loops on both hosts."""
    here, there = speed.here, speed.calibrated
    calls = here.system_calls * here.loopback / (there.system_calls * there.loopback)
    return here.interpreter / there.interpreter, calls**0.5


def _platform(rest: ChargedCosts, ways: WaySums, budget: DelayBudget, factor: float) -> Iterator[str]:
    """A platform that is less than what all ways have at their ends, or more than with all that they may have."""
    if budget.notifications != ways.notifications or budget.parts.platform_ms is None:
        return
    to_clients = factor * _mean(rest.notify) / MILLISECOND
    per_way = (ways.passages / ways.notifications) if ways.notifications else 0.0
    most = to_clients + factor * (_mean(rest.submit) + per_way * _mean(rest.link)) / MILLISECOND
    platform = budget.parts.platform_ms
    if platform > most * (1 + _NEAR) + _NEAR:
        yield f"platform is {platform:.3f} ms, at rest these ways take {most:.3f} ms at most on this host"
    if platform < to_clients * (1 - _NEAR) - _NEAR:
        yield f"platform is {platform:.3f} ms, at rest the ways to clients alone take {to_clients:.3f} ms on this host"


def _mean(times: list[int]) -> float:
    return sum(times) / len(times) if times else 0.0
