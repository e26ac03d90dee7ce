"""The properties of TID routing, over generated overlays, workloads and delays.

A failure shrinks and prints a case; `brokerlab conformance --runtime simulated FILE` runs it again.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from studies.conformance.model import Case
from tests.proof import tried
from tests.properties import checks
from tests.properties.strategies import ALL_FAULTS, CUTS, DEATHS, cases, cases_with_faults

unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@pytest.mark.parametrize("protocol", checks.BOTH)
@settings(unhurried, max_examples=tried(25))
@given(case=cases())
def test_exactly_once_to_who_must_and_never_to_who_must_not(protocol: str, case: Case) -> None:
    checks.delivered_exactly_once(case, protocol)


@settings(unhurried, max_examples=tried(19))
@given(case=cases())
def test_no_broker_receives_a_publication_twice_under_fixed_routing(case: Case) -> None:
    checks.no_broker_receives_twice(case, checks.FIXED)


@settings(unhurried, max_examples=tried(19))
@given(case=cases(settled=True))
def test_the_same_are_notified_with_and_without_tid_changes(case: Case) -> None:
    checks.tid_changes_notify_the_same(case, checks.DYNAMIC)


@pytest.mark.parametrize("protocol", checks.BOTH)
@settings(unhurried, max_examples=tried(19))
@given(case=cases(withdrawn=True))
def test_tables_are_empty_when_everything_is_withdrawn(protocol: str, case: Case) -> None:
    checks.nothing_remains(case, protocol)


@pytest.mark.parametrize("protocol", checks.BOTH)
@settings(unhurried, max_examples=tried(19))
@given(case=cases())
def test_no_message_lives_for_ever(protocol: str, case: Case) -> None:
    checks.nothing_lives_for_ever(case, protocol)


@pytest.mark.parametrize("protocol", checks.BOTH)
@settings(unhurried, max_examples=tried(13))
@given(case=cases_with_faults(DEATHS))
def test_exactly_once_again_when_brokers_have_come_back(protocol: str, case: Case) -> None:
    checks.delivered_exactly_once(case, protocol)


@pytest.mark.parametrize("protocol", checks.BOTH)
@settings(unhurried, max_examples=tried(13))
@given(case=cases_with_faults(DEATHS))
def test_tables_are_empty_when_everything_is_withdrawn_though_brokers_died(protocol: str, case: Case) -> None:
    checks.nothing_remains(case, protocol)


@pytest.mark.parametrize("protocol", checks.BOTH)
@settings(unhurried, max_examples=tried(13))
@given(case=cases_with_faults(CUTS, most=4))
def test_links_that_are_down_for_a_while_cost_nothing(protocol: str, case: Case) -> None:
    checks.delivered_exactly_once(case, protocol)
    checks.nothing_remains(case, protocol)


@pytest.mark.parametrize("protocol", checks.BOTH)
@settings(unhurried, max_examples=tried(13))
@given(case=cases_with_faults(ALL_FAULTS, most=5))
def test_whatever_broke_all_is_well_again_afterwards(protocol: str, case: Case) -> None:
    checks.delivered_exactly_once(case, protocol)
    checks.nothing_remains(case, protocol)
