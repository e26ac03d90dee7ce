"""Costs scale with the time of the reference loop of their kind, from one host to another."""

from __future__ import annotations

import pytest
from msgspec import UNSET

from analysis.budget.request import at_rest
from record.host_speed import CostScale, HostSpeed, LoopTimes, mean_of, scale_between, slowest_of
from record.manifest import ChargedCosts

SLOW = LoopTimes(interpreter=1600, system_calls=3000, loopback=1000)
COSTS = ChargedCosts(frame=100, work={"publish": 10}, link=[40, 80], submit=[60], notify=[20])


def test_the_same_host_has_the_calibrated_costs() -> None:
    assert scale_between(SLOW, SLOW) == CostScale()
    assert scale_between(SLOW, SLOW).in_words() == "as calibrated"


def test_work_scales_with_the_interpreter_and_the_platform_with_system_calls_and_loopback() -> None:
    here = LoopTimes(interpreter=800, system_calls=3000, loopback=250)
    scale = HostSpeed(here=here, calibrated=SLOW, timed=0).scale
    assert (scale.work, scale.platform) == (0.5, 0.5)
    assert HostSpeed(here=SLOW, calibrated=here, timed=0).scale == CostScale(work=2.0, platform=2.0)
    assert scale.in_words() == "0.50 and 0.50 of the calibrated"


def test_several_hosts_are_as_one_of_their_slowest_or_their_mean_times() -> None:
    quick = LoopTimes(interpreter=800, system_calls=5000, loopback=200)
    assert slowest_of([SLOW, quick]) == LoopTimes(interpreter=1600, system_calls=5000, loopback=1000)
    assert mean_of(iter([SLOW, quick])) == LoopTimes(interpreter=1200, system_calls=4000, loopback=600)


def test_a_loop_that_takes_no_time_is_refused() -> None:
    with pytest.raises(ValueError, match="loopback: a loop takes longer than nothing"):
        LoopTimes(interpreter=1, system_calls=1, loopback=0)


def test_costs_at_rest_are_the_calibrations_on_the_runs_host_in_the_scenarios_time() -> None:
    rest = at_rest(COSTS, CostScale(work=0.5, platform=0.25), dilation=2.0)
    assert (rest.frame, rest.work, rest.handling) == (25, {"publish": 2}, 27)
    assert (rest.link.times, rest.submit.times, rest.notify.times) == ((5, 10), (8,), (2,))
    assert rest.scale == CostScale(work=0.5, platform=0.25)


def test_without_the_speed_of_a_host_costs_hold_as_they_are() -> None:
    rest = at_rest(COSTS, UNSET, dilation=1.0)
    assert (rest.frame, rest.link.times, rest.scale) == (100, (40, 80), UNSET)
