"""The properties of MEDYM, over generated meshes, workloads and faults.

A failure shrinks and prints a case; `brokerlab conformance --runtime simulated FILE` runs it again.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from studies.conformance.model import Case
from tests.contracts.properties import no_broker_receives_in_vain
from tests.proof import tried
from tests.properties import checks
from tests.properties.medym import medym_checks
from tests.properties.medym.medym_checks import ALL, MST, SOURCE
from tests.properties.medym.medym_strategies import (
    crowds,
    crowds_that_grow_without_a_link,
    crowds_with_cut_links,
    crowds_with_dead_brokers,
    crowds_with_dying_brokers,
    crowds_with_restarts,
)
from tests.properties.strategies import ALL_FAULTS, CUTS, cases, cases_with_faults

unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
EVERY = pytest.mark.parametrize("protocol", ALL)


@EVERY
@settings(unhurried, max_examples=tried(5))
@given(case=cases())
def test_exactly_once_to_who_must_and_never_to_who_must_not(protocol: str, case: Case) -> None:
    checks.delivered_once_at_each_broker(case, protocol)


@EVERY
@settings(unhurried, max_examples=tried(4))
@given(case=cases(settled=True))
def test_the_same_clients_are_notified_as_by_tid(protocol: str, case: Case) -> None:
    medym_checks.notified_as_by_tid(case, protocol)


@settings(unhurried, max_examples=tried(8))
@given(case=cases(settled=True))
def test_no_broker_receives_in_vain_while_others_come_and_go(case: Case) -> None:
    no_broker_receives_in_vain(case, MST)


@settings(unhurried, max_examples=tried(8))
@given(case=cases(withdrawn=True))
def test_nothing_remains_of_what_was_withdrawn(case: Case) -> None:
    medym_checks.nothing_remains(case, MST)


@EVERY
@settings(unhurried, max_examples=tried(8))
@given(case=crowds())
def test_destinations_alone_receive_once(protocol: str, case: Case) -> None:
    medym_checks.destinations_alone_receive_once(case, protocol)
    medym_checks.crowds_are_notified_once(case, protocol)


@EVERY
@settings(unhurried, max_examples=tried(4))
@given(case=crowds())
def test_lists_are_as_long_as_paths(protocol: str, case: Case) -> None:
    medym_checks.lists_are_as_long_as_paths(case, protocol)


@pytest.mark.parametrize("protocol", [MST, SOURCE])
@settings(unhurried, max_examples=tried(8))
@given(case=crowds())
def test_trees_are_minimum_spanning_trees(protocol: str, case: Case) -> None:
    medym_checks.trees_are_minimum(case, protocol)


@EVERY
@settings(unhurried, max_examples=tried(5))
@given(case=crowds_with_dead_brokers())
def test_any_dead_brokers_are_gone_round(protocol: str, case: Case) -> None:
    medym_checks.crowds_are_notified_once(case, protocol)
    medym_checks.destinations_alone_receive_once(case, protocol)


@EVERY
@settings(unhurried, max_examples=tried(5))
@given(case=crowds_with_dying_brokers())
def test_brokers_that_end_at_any_moment_cost_their_own_clients_alone(protocol: str, case: Case) -> None:
    """Links in the simulator are fast enough here to leave nothing in the queues of a broker that ends."""
    medym_checks.crowds_are_notified_once(case, protocol)


@EVERY
@settings(unhurried, max_examples=tried(5))
@given(case=crowds_with_cut_links())
def test_cut_links_cost_nothing(protocol: str, case: Case) -> None:
    medym_checks.crowds_are_notified_once(case, protocol)


@settings(unhurried, max_examples=tried(5))
@given(case=crowds_that_grow_without_a_link())
def test_announcements_go_round_a_cut_link(case: Case) -> None:
    medym_checks.crowds_are_notified_once(case, MST)


@EVERY
@settings(unhurried, max_examples=tried(4))
@given(case=crowds_with_restarts())
def test_restarted_brokers_are_destinations_again(protocol: str, case: Case) -> None:
    medym_checks.destinations_alone_receive_once(case, protocol)


@EVERY
@settings(unhurried, max_examples=tried(4))
@given(case=cases_with_faults(ALL_FAULTS))
def test_under_all_faults_whoever_must_is_notified_once(protocol: str, case: Case) -> None:
    checks.delivered_once_at_each_broker(case, protocol)


@settings(unhurried, max_examples=tried(5))
@given(case=cases_with_faults(CUTS))
def test_nothing_travels_for_ever(case: Case) -> None:
    checks.nothing_lives_for_ever(case, MST)
