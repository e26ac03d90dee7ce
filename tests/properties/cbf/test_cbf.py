"""The properties of content-based forwarding, over generated overlays, workloads, delays and faults.

Broken routers, and the property that catches each:

| router | property |
|---|---|
| `ForwardsBack` | only ways to subscribers receive |
| `ForwardsEverywhere` | only ways to subscribers receive |
| `WithdrawsForAll` | delivered exactly once |
| `KeepsWithdrawalsToItself` | nothing remains |
| `TellsRestartedNothing` | delivered exactly once, with restarts |
| `TrustsTheRestarted` | nothing remains, with restarts |
| `IgnoresLateAdvertisements` | delivered exactly once |
| `ForgetsTheCovered`, `CoversTheWrongWay` (sums) | delivered exactly once |
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from broker_service.routing.cbf import CbfRouter
from broker_service.routing.cbf.sums import CoveringSum
from studies.conformance.model import Case
from tests.proof import drawn, tried
from tests.properties.cbf import cbf_checks as checks
from tests.properties.cbf import cbf_mutants as mutants
from tests.properties.checks import Property, delivered_once_at_each_broker
from tests.properties.strategies import ALL_FAULTS, CUTS, DEATHS, cases, cases_with_faults
from tests.properties.test_mutants import caught

unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
on_both = pytest.mark.parametrize("protocol", checks.BOTH)


@on_both
@settings(unhurried, max_examples=tried(19))
@given(case=cases())
def test_exactly_once_to_who_must_and_never_to_who_must_not(protocol: str, case: Case) -> None:
    delivered_once_at_each_broker(case, protocol)


@on_both
@settings(unhurried, max_examples=tried(13))
@given(case=cases(settled=True))
def test_only_brokers_on_the_way_to_subscribers_receive(protocol: str, case: Case) -> None:
    checks.only_ways_to_subscribers_receive(case, protocol)


@on_both
@settings(unhurried, max_examples=tried(13))
@given(case=cases(withdrawn=True))
def test_tables_are_empty_when_everything_is_withdrawn(protocol: str, case: Case) -> None:
    checks.nothing_remains(case, protocol)


@on_both
@pytest.mark.parametrize("kinds", [DEATHS, CUTS, ALL_FAULTS])
@settings(unhurried, max_examples=tried(10))
@given(data=st.data())
def test_whatever_broke_all_is_well_again_afterwards(
    protocol: str, kinds: tuple[str, ...], data: st.DataObject
) -> None:
    case = data.draw(cases_with_faults(kinds))
    delivered_once_at_each_broker(case, protocol)
    checks.nothing_remains(case, protocol)


SETTLED, WITHDRAWN, RESTARTS = cases(settled=True), cases(withdrawn=True), cases_with_faults(DEATHS)
MUTANTS: list[tuple[type[CbfRouter] | type[CoveringSum], Property, str, st.SearchStrategy[Case]]] = [
    (mutants.ForwardsBack, checks.only_ways_to_subscribers_receive, checks.PLAIN, SETTLED),
    (mutants.ForwardsEverywhere, checks.only_ways_to_subscribers_receive, checks.PLAIN, SETTLED),
    (mutants.WithdrawsForAll, delivered_once_at_each_broker, checks.PLAIN, cases()),
    (mutants.KeepsWithdrawalsToItself, checks.nothing_remains, checks.PLAIN, WITHDRAWN),
    (mutants.TellsRestartedNothing, delivered_once_at_each_broker, checks.PLAIN, RESTARTS),
    (mutants.TrustsTheRestarted, checks.nothing_remains, checks.PLAIN, RESTARTS),
    (mutants.IgnoresLateAdvertisements, delivered_once_at_each_broker, checks.AGGREGATING, cases()),
    (mutants.ForgetsTheCovered, delivered_once_at_each_broker, checks.AGGREGATING, cases()),
    (mutants.CoversTheWrongWay, delivered_once_at_each_broker, checks.AGGREGATING, cases()),
]


@pytest.mark.parametrize(("variant", "property", "protocol", "strategy"), drawn(MUTANTS))
def test_a_broken_variant_is_caught(
    variant: type[CbfRouter] | type[CoveringSum], property: Property, protocol: str, strategy: st.SearchStrategy[Case]
) -> None:
    with mutants.in_place_of_the_right(variant):
        caught(property, protocol, strategy)
