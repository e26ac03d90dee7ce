"""Costs scale with the time of the reference loop, from one host to another."""

from __future__ import annotations

import msgspec
import pytest
from msgspec import UNSET

from analysis.budget.request import at_rest
from record.host_speed import HostSpeed, LoopTimes, factor_between, factor_in_words, mean_of, slowest_of
from record.manifest import ChargedCosts

SLOW = LoopTimes(interpreter=1600)
COSTS = ChargedCosts(frame=100, work={"publish": 10}, link=[40, 80], submit=[60], notify=[20])


def test_the_same_host_has_the_calibrated_costs() -> None:
    assert factor_between(SLOW, SLOW) == 1.0
    assert factor_in_words(1.0) == "as calibrated"


def test_costs_are_as_many_times_those_of_the_calibrated_host_as_the_loop_takes() -> None:
    here = LoopTimes(interpreter=800)
    assert HostSpeed(here=here, calibrated=SLOW, timed=0).factor == 0.5
    assert HostSpeed(here=SLOW, calibrated=here, timed=0).factor == 2.0
    assert factor_in_words(0.5) == "0.50 of the calibrated"


def test_several_hosts_are_as_one_of_their_slowest_or_their_mean_times() -> None:
    quick = LoopTimes(interpreter=800)
    assert slowest_of(iter([quick, SLOW])) == SLOW
    assert mean_of(iter([SLOW, quick])) == LoopTimes(interpreter=1200)


def test_loops_of_other_kinds_in_files_of_earlier_versions_are_not_read() -> None:
    file = b'{"interpreter": 1600, "system_calls": 3000, "loopback": 1000}'
    assert msgspec.json.decode(file, type=LoopTimes) == SLOW


def test_a_loop_that_takes_no_time_is_refused() -> None:
    with pytest.raises(ValueError, match="interpreter: a loop takes longer than nothing"):
        LoopTimes(interpreter=0)


def test_costs_at_rest_are_the_calibrations_on_the_runs_host_in_the_scenarios_time() -> None:
    rest = at_rest(COSTS, 0.5, dilation=2.0)
    assert (rest.frame, rest.work, rest.handling) == (25, {"publish": 2}, 27)
    assert (rest.link.times, rest.submit.times, rest.notify.times) == ((10, 20), (15,), (5,))
    assert rest.factor == 0.5


def test_without_the_speed_of_a_host_costs_hold_as_they_are() -> None:
    rest = at_rest(COSTS, UNSET, dilation=1.0)
    assert (rest.frame, rest.link.times, rest.factor) == (100, (40, 80), UNSET)
