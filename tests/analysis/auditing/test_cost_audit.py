"""The audit names costs at rest that are not those of the calibration on a host of this speed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace as with_fields

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from analysis.auditing.cost_audit import costs_at_rest
from analysis.auditing.evidence import BudgetRows, Evidence
from analysis.auditing.way_sums import WaysOnHost, WaySums
from analysis.tables.budget import DelayParts
from analysis.tables.summary import DelayBudget
from record.host_speed import HostSpeed, LoopTimes
from record.manifest import ChargedCosts, PhaseName, PhaseRecord, VariantRecord
from topology.model import Broker, Overlay

REST = ChargedCosts(frame=0, work={}, link=[1_000_000, 3_000_000], submit=[4_000_000], notify=[1_000_000])
CALIBRATED = LoopTimes(interpreter=2000)
SPEED = HostSpeed(here=LoopTimes(interpreter=1000), calibrated=CALIBRATED, timed=1_000_000_000)
EVIDENCE = Evidence(
    number=0,
    variant=VariantRecord(
        name="base", phases=[PhaseRecord(name=PhaseName.START, start=2_000_000_000, end=3_000_000_000)]
    ),
    scenario={},
    overlay=Overlay("one", (Broker("B1"),), ()),
    logs=None,  # type: ignore[arg-type]
    at_rest=REST,
    host_speeds={"": SPEED},
)


def rows(on_hosts: Sequence[WaysOnHost]) -> BudgetRows:
    """Ten ways, which are at brokers of these hosts."""
    return BudgetRows(
        delay=None,  # type: ignore[arg-type]
        by_delay=(),
        over_time=(),
        at_nodes=(),
        ways=WaySums(0, notifications=10),
        on_hosts=on_hosts,
    )


WAYS = rows([WaysOnHost(0, "", begun=10, passed=20, ended=10)])
"""At rest each way takes 4 + 2 x 2 + 1 = 9 ms on the calibrated host, and half of that here."""


def budget(platform: float = 4.4, factor: float = 0.5) -> DelayBudget:
    parts = DelayParts(
        links_ms=10.0, waiting_for_links_ms=0.0, waiting_at_brokers_ms=0.0, work_ms=1.0, platform_ms=platform,
        contention_ms=0.0, unexplained_ms=0.0, unexplained_absolute_ms=0.0,
    )  # fmt: skip
    return DelayBudget(notifications=10, parts=parts, contention_at=None, unexplained_at=None, cost_factor=factor)


def test_costs_by_the_loops_of_this_host_are_right() -> None:
    assert list(costs_at_rest(EVIDENCE, WAYS, budget())) == []
    assert list(costs_at_rest(EVIDENCE, WAYS, budget(platform=4.5))) == []


def test_a_simulated_run_has_no_costs_at_rest_to_be_audited() -> None:
    assert list(costs_at_rest(with_fields(EVIDENCE, at_rest=UNSET), WAYS, budget(platform=90.0))) == []


@pytest.mark.parametrize("factor", [0.4, 0.8])
def test_a_factor_that_was_fitted_to_the_run_is_named(factor: float) -> None:
    assert list(costs_at_rest(EVIDENCE, WAYS, budget(factor=factor))) == [
        f"costs are {factor:.3f} of the calibration's, by the loop of this host they are 0.500"
    ]


@pytest.mark.parametrize(
    ("platform", "sentence"),
    [
        (4.6, "platform is 4.600 ms, at rest these ways take 4.500 ms at most on this host"),
        (0.4, "platform is 0.400 ms, at rest the ways to clients alone take 0.500 ms on this host"),
    ],
)
def test_a_platform_that_the_ways_cannot_have_is_named(platform: float, sentence: str) -> None:
    assert list(costs_at_rest(EVIDENCE, WAYS, budget(platform=platform))) == [sentence]


def test_loops_that_were_timed_after_the_run_had_begun_are_named() -> None:
    late = with_fields(EVIDENCE, host_speeds={"": replace(SPEED, timed=4_500_000_000)})
    assert list(costs_at_rest(late, WAYS, budget())) == [
        "the loop of this host was timed 2.5 s after the variant began"
    ]


@pytest.mark.parametrize(("timed", "late"), [(5_900_000_000, ""), (9_000_000_000, "1.0 s after the variant began")])
def test_loops_of_a_run_that_was_slower_are_held_against_its_begin_in_the_same_time(timed: int, late: str) -> None:
    """Its phases are in the scenario's time, in which it began at 2 s; for the host, that was at 6 s."""
    variant, speed = replace(EVIDENCE.variant, time_dilation=3.0), replace(SPEED, timed=timed)
    found = costs_at_rest(with_fields(EVIDENCE, variant=variant, host_speeds={"": speed}), WAYS, budget())
    timed_late = [wrong for wrong in found if "timed" in wrong]
    assert timed_late == ([f"the loop of this host was timed {late}"] if late else [])


def test_without_the_speed_of_a_host_costs_are_the_calibrations_in_the_scenarios_time() -> None:
    dilated = with_fields(EVIDENCE, host_speeds={}, variant=VariantRecord(name="base", time_dilation=3.0))
    assert list(costs_at_rest(dilated, WAYS, budget(platform=3.0, factor=1.0))) == []
    (sentence,) = costs_at_rest(dilated, WAYS, budget(platform=3.1, factor=1.0))
    assert "3.000 ms at most" in sentence


SLOW = replace(SPEED, here=CALIBRATED)
"""A host as fast as the calibrated one."""
BOTH = with_fields(EVIDENCE, hosts=["h1", "h2"], host_speeds={"h1": SPEED, "h2": SLOW})
AT_BOTH = rows([WaysOnHost(0, "h1", begun=10, passed=5), WaysOnHost(0, "h2", passed=15, ended=10)])
"""Ways begin on the fast host, and most of each is on the other: at rest they take 2 + 0.5 + 3 + 1 ms."""
FACTORS = {"h1": 0.5, "h2": 1.0}


def of_hosts(platform: float, factors: dict[str, float]) -> DelayBudget:
    return replace(budget(platform), cost_factor=UNSET, cost_factors=factors)


def test_each_host_has_the_costs_of_its_own_loops() -> None:
    assert list(costs_at_rest(BOTH, AT_BOTH, of_hosts(6.5, FACTORS))) == []


def test_one_hosts_speed_that_was_taken_for_all_is_named() -> None:
    assert list(costs_at_rest(BOTH, AT_BOTH, of_hosts(5.5, dict.fromkeys(FACTORS, FACTORS["h1"])))) == [
        "costs are 0.500 of the calibration's, by the loop of h2 they are 1.000"
    ]


def test_a_platform_at_another_hosts_speed_is_named() -> None:
    (sentence,) = costs_at_rest(BOTH, AT_BOTH, of_hosts(6.6, FACTORS))
    assert sentence == "platform is 6.600 ms, at rest these ways take 6.500 ms at most on these hosts"
    (sentence,) = costs_at_rest(BOTH, AT_BOTH, of_hosts(0.9, FACTORS))
    assert sentence == "platform is 0.900 ms, at rest the ways to clients alone take 1.000 ms on these hosts"


def test_loops_of_another_host_that_were_timed_late_are_named() -> None:
    late = {"h1": SPEED, "h2": replace(SLOW, timed=4_500_000_000)}
    assert list(costs_at_rest(with_fields(BOTH, host_speeds=late), AT_BOTH, of_hosts(6.5, FACTORS))) == [
        "the loop of h2 was timed 2.5 s after the variant began"
    ]
