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

from contextlib import AbstractContextManager

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from studies.conformance.model import Case
from tests.properties import cbf_checks as checks
from tests.properties import cbf_mutants as mutants
from tests.properties.checks import BrokenError, Property
from tests.properties.drawing import search
from tests.properties.strategies import ALL_FAULTS, CUTS, DEATHS, cases, cases_with_faults

unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
on_both = pytest.mark.parametrize("protocol", checks.BOTH)


@on_both
@settings(unhurried, max_examples=60)
@given(case=cases())
def test_exactly_once_to_who_must_and_never_to_who_must_not(protocol: str, case: Case) -> None:
    checks.delivered_exactly_once(case, protocol)


@on_both
@settings(unhurried, max_examples=40)
@given(case=cases(settled=True))
def test_only_brokers_on_the_way_to_subscribers_receive(protocol: str, case: Case) -> None:
    checks.only_ways_to_subscribers_receive(case, protocol)


@on_both
@settings(unhurried, max_examples=40)
@given(case=cases(withdrawn=True))
def test_tables_are_empty_when_everything_is_withdrawn(protocol: str, case: Case) -> None:
    checks.nothing_remains(case, protocol)


@on_both
@pytest.mark.parametrize("kinds", [DEATHS, CUTS, ALL_FAULTS])
@settings(unhurried, max_examples=30)
@given(data=st.data())
def test_whatever_broke_all_is_well_again_afterwards(
    protocol: str, kinds: tuple[str, ...], data: st.DataObject
) -> None:
    case = data.draw(cases_with_faults(kinds))
    checks.delivered_exactly_once(case, protocol)
    checks.nothing_remains(case, protocol)


SETTLED, WITHDRAWN, RESTARTS = cases(settled=True), cases(withdrawn=True), cases_with_faults(DEATHS)
MUTANTS: dict[str, tuple[AbstractContextManager[None], Property, str, st.SearchStrategy[Case]]] = {
    "ForwardsBack": (
        mutants.in_place_of_cbf(mutants.ForwardsBack),
        checks.only_ways_to_subscribers_receive,
        checks.PLAIN,
        SETTLED,
    ),
    "ForwardsEverywhere": (
        mutants.in_place_of_cbf(mutants.ForwardsEverywhere),
        checks.only_ways_to_subscribers_receive,
        checks.PLAIN,
        SETTLED,
    ),
    "WithdrawsForAll": (
        mutants.in_place_of_cbf(mutants.WithdrawsForAll),
        checks.delivered_exactly_once,
        checks.PLAIN,
        cases(),
    ),
    "KeepsWithdrawalsToItself": (
        mutants.in_place_of_cbf(mutants.KeepsWithdrawalsToItself),
        checks.nothing_remains,
        checks.PLAIN,
        WITHDRAWN,
    ),
    "TellsRestartedNothing": (
        mutants.in_place_of_cbf(mutants.TellsRestartedNothing),
        checks.delivered_exactly_once,
        checks.PLAIN,
        RESTARTS,
    ),
    "TrustsTheRestarted": (
        mutants.in_place_of_cbf(mutants.TrustsTheRestarted),
        checks.nothing_remains,
        checks.PLAIN,
        RESTARTS,
    ),
    "IgnoresLateAdvertisements": (
        mutants.in_place_of_cbf(mutants.IgnoresLateAdvertisements),
        checks.delivered_exactly_once,
        checks.AGGREGATING,
        cases(),
    ),
    "ForgetsTheCovered": (
        mutants.with_sums(mutants.ForgetsTheCovered),
        checks.delivered_exactly_once,
        checks.AGGREGATING,
        cases(),
    ),
    "CoversTheWrongWay": (
        mutants.with_sums(mutants.CoversTheWrongWay),
        checks.delivered_exactly_once,
        checks.AGGREGATING,
        cases(),
    ),
}


@pytest.mark.source("it breaks compiled classes on purpose, by subclasses")
@pytest.mark.parametrize(("broken", "property", "protocol", "strategy"), MUTANTS.values(), ids=MUTANTS)
def test_a_broken_router_is_caught(
    broken: AbstractContextManager[None], property: Property, protocol: str, strategy: st.SearchStrategy[Case]
) -> None:
    @settings(search, max_examples=400)
    @given(case=strategy)
    def look(case: Case) -> None:
        property(case, protocol)

    with broken, pytest.raises(BrokenError):
        look()
